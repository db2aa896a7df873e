/** Where the time comes from. The host's clock in production, one set by hand in tests. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
}

/** Where new ids come from; a UUIDv7 in production, a counter in tests. */
export type NewId = () => string;
