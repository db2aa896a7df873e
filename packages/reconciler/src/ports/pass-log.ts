/** Where the loop tells what it does; a pino logger fits. */
export interface PassLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** A log that nobody reads. */
export const silentLog: PassLog = { info: () => undefined, warn: () => undefined, error: () => undefined };
