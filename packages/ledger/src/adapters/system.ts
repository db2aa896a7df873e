import { v7 } from 'uuid';
import type { Clock, NewId } from '../ports/clock.ts';

/** The host's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** UUIDv7: ids that sort by the time they were made. */
export const systemNewId: NewId = () => v7();
