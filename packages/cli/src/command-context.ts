import type pc from 'picocolors';
import type { ExitCode } from './exit-code.ts';

/** Functions that colour a text, or leave it as it is. */
export type Paint = ReturnType<typeof pc.createColors>;

/** Options that every command takes. */
export interface GlobalOptions {
  readonly store?: string;
  readonly json?: boolean;
}

/** Where text goes. */
export interface Printer {
  /** Returns when the reader can take more. Does nothing once the reader is gone. */
  write(text: string): Promise<void>;
  /** True once nobody reads any more (a closed pipe): a stream may stop. */
  readonly isClosed: () => boolean;
  readonly isTty: boolean;
  /** Columns of the terminal; 80 when there is none. */
  readonly columns: number;
  /** Lines of the terminal; null when there is none. */
  readonly rows: number | null;
}

/** Everything a command may touch of the process that runs it. */
export interface CommandContext {
  readonly storeUrl: string;
  /** How a person calls this command for the same store: `custody`, with `-s` if that was given. */
  readonly program: string;
  /** Print JSON for programs instead of text for people. */
  readonly json: boolean;
  /** Results. */
  readonly out: Printer;
  /** Everything else. */
  readonly err: Printer;
  /** Colours for `out`; plain when the reader is no terminal or asked for none. */
  readonly paint: Paint;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Aborted by the first SIGINT or SIGTERM after this call; until then they end the process as usual. */
  readonly interruption: () => AbortSignal;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** One command: it prints its own results, and returns how it went. Errors are thrown. */
type CommandFunction<Options> = (context: CommandContext, options: Options) => Promise<ExitCode>;

/** Runs a command that is loaded only now, so that others need not pay for it. */
export type CommandRunner = <Options>(
  load: () => Promise<CommandFunction<Options>>,
  options: Options,
) => Promise<void>;
