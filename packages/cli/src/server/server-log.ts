import type { CommandContext } from '../command-context.ts';
import type { ServerLog } from './create-server.ts';

/** Places where a secret could come into a log by mistake. */
const SECRET_PATHS = ['authorization', '*.authorization', '*.*.authorization', 'token', '*.token'];

/** The log of a server: JSON Lines on stderr, for people and programs alike. */
export async function serverLog(context: CommandContext): Promise<ServerLog> {
  const { pino } = await import('pino');
  const logger = pino(
    {
      base: null,
      redact: SECRET_PATHS,
      timestamp: () => `,"time":"${new Date(context.now()).toISOString()}"`,
    },
    { write: (line) => void context.err.write(line) },
  );
  return {
    info: (facts, message) => logger.info(facts, message),
    warn: (facts, message) => logger.warn(facts, message),
    error: (facts, message) => logger.error(facts, message),
  };
}
