import type { JsonValue, NewEvent } from '@custody/ledger';
import { InvalidEventError, UsageError } from '@custody/ledger';
import { picked } from './random.ts';
import type { Step } from './step.ts';
import type { Running, World } from './world.ts';

/** An event that may not be taken, and the field that is wrong; null where the whole event is. */
interface BadEvent {
  readonly event: (world: World) => Readonly<Record<string, JsonValue | undefined>>;
  readonly field: string | null;
}

const GOOD: NewEvent = { type: 'x.good', note: 'beside a bad one' };

const BAD_EVENTS: readonly BadEvent[] = [
  { event: () => ({ type: 'run.started', run_id: 7, task_id: 'o-1' }), field: 'run_id' },
  { event: () => ({ type: 'run.started', run_id: 'has space', task_id: 'o-1' }), field: 'run_id' },
  { event: () => ({ type: 'run.started', task_id: 'o-1' }), field: 'run_id' },
  { event: () => ({ type: 'run.settled', run_id: 'r-nobody-knows', state: 'succeeded' }), field: 'task_id' },
  { event: () => ({ type: 'run.vanquished', run_id: 'r-1' }), field: 'type' },
  { event: () => ({ type: 'task.completed', task_id: 'o-1', result: 1 }), field: 'type' },
  { event: () => ({ type: 'x.bad', note: 'lone \ud800 surrogate' }), field: 'note' },
  { event: () => ({ type: 'x.bad', note: 'a \u0000 in it' }), field: 'note' },
  { event: () => ({ type: 'x.bad', note: Number.POSITIVE_INFINITY }), field: 'note' },
  {
    event: (world) => ({
      id:
        picked(
          [...world.acknowledged.keys()].filter((id) => id.startsWith('e-')),
          0,
        ) ?? '',
      type: 'x.other',
      note: 'another',
    }),
    field: 'id',
  },
];

/** Hands in a batch in which one event is bad. It must be refused whole, with the place and the reason. */
export async function badEvent(world: World, { ledger }: Running, step: Step): Promise<string> {
  const bad = BAD_EVENTS[step.a % BAD_EVENTS.length] ?? BAD_EVENTS[0];
  const index = step.b % 3;
  const batch = [GOOD, GOOD, GOOD].with(index, (bad?.event(world) ?? {}) as NewEvent);
  try {
    await ledger.append(batch);
  } catch (error) {
    if (!(error instanceof InvalidEventError)) throw error;
    const isTold = error.index === index && error.field === (bad?.field ?? null) && error.hint !== '';
    world.figures.hold(
      'P14',
      isTold,
      () =>
        `${error.message} names ${String(error.field)} of event ${error.index}, not ${String(bad?.field)} of ${index}`,
    );
    return `refused ${error.code} ${String(error.field)}`;
  }
  world.figures.hold('P14', false, () => `a batch with a bad ${String(bad?.field)} was taken`);
  return 'taken';
}

const BAD_COMMANDS: readonly ((running: Running) => Promise<unknown>)[] = [
  ({ ledger }) => ledger.runs.claim({ holder: '' }),
  ({ ledger }) => ledger.runs.claim({ holder: 'h-1', ttlMs: -1 }),
  ({ ledger }) => ledger.tasks.create({ taskId: 'no id', title: 'work' }),
  ({ ledger }) => ledger.tasks.create({ title: '' }),
  ({ ledger }) => ledger.runs.submit({ taskId: 'm-1', runId: 'r-1', fence: 1, idempotencyKey: '', value: 1 }),
  ({ ledger }) => ledger.runs.push({ runId: 'r-1', fence: Number.NaN, state: 'x' }),
];

/** Gives a command something that it can't mean. */
export async function badCommand(world: World, running: Running, step: Step): Promise<string> {
  const command = BAD_COMMANDS[step.a % BAD_COMMANDS.length];
  try {
    await command?.(running);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    world.figures.hold(
      'P14',
      typeof error.facts['field'] === 'string',
      () => `${error.message} names no field`,
    );
    return `refused ${String(error.facts['field'])}`;
  }
  world.figures.hold('P14', false, () => `bad command ${step.a % BAD_COMMANDS.length} was carried out`);
  return 'carried out';
}
