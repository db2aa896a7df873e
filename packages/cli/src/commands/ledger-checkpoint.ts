import type { Checkpoint } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { readTextFile } from '../input/open-input.ts';
import { withLedger } from '../open-store.ts';
import { openNewFile } from '../output/new-file.ts';
import { printReport } from '../output/report.ts';

/** Options of `ledger checkpoint`. */
export interface LedgerCheckpointOptions {
  /** File with the private key. */
  readonly key: string;
  /** Where the checkpoint goes; it is printed in any case. */
  readonly out?: string | undefined;
  /** Where the list of frozen fields goes, which the checkpoint then covers. */
  readonly rows?: string | undefined;
}

/** Signs where the ledger stands. The files are durable before the log is told of them. */
export async function ledgerCheckpoint(
  context: CommandContext,
  { key, out, rows }: LedgerCheckpointOptions,
): Promise<ExitCode> {
  const privateKey = await readTextFile(key);
  return withLedger(context, 'work', async (ledger) => {
    const list = rows === undefined ? null : await openNewFile(rows);
    const checkpoint = await taken();
    await list?.finish();
    if (out !== undefined) {
      const file = await openNewFile(out);
      await file.write(`${JSON.stringify(checkpoint)}\n`);
      await file.finish();
    }
    await ledger.recordCheckpoint(checkpoint);
    await printReport(context, checkpoint, () =>
      out === undefined ? JSON.stringify(checkpoint) : humanReport(checkpoint, out),
    );
    return EXIT.done;

    async function taken(): Promise<Checkpoint> {
      try {
        return await ledger.takeCheckpoint({
          privateKey,
          ...(list === null ? {} : { writeRow: (line) => list.write(`${line}\n`) }),
        });
      } catch (error) {
        await list?.abandon();
        throw error;
      }
    }
  });
}

function humanReport({ seq, hash, key, rows }: Checkpoint, file: string): string {
  const covered = rows === null ? '' : `, and the frozen fields of ${rows.count} rows`;
  return `signed ${seq}:${hash}${covered}, with the key ${key}\nkeep ${file} where whoever can write the store can't`;
}
