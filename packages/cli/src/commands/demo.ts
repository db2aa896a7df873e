import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandContext } from '../command-context.ts';
import { CliError, usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { printReport } from '../output/report.ts';

/** Options of `demo`. */
export interface DemoOptions {
  /** An empty or absent directory; a fresh temporary one when not given. */
  readonly dir?: string | undefined;
}

/** Heals a sample ledger in a directory of its own and shows what changed. The directory stays, to look around in. */
export async function demo(context: CommandContext, { dir }: DemoOptions): Promise<ExitCode> {
  const { runDemo } = await import('../demo/run-demo.ts');
  const { unpackSample } = await import('../demo/unpack-sample.ts');
  const { demoText } = await import('../output/demo-text.ts');
  const began = context.now();
  const directory = dir === undefined ? mkdtempSync(join(tmpdir(), 'custody-demo-')) : emptyDirectory(dir);
  const root = join(directory, 'data-root');
  unpackSample(root);
  const own = { ...context, storeUrl: `sqlite:${join(directory, 'custody.db')}` };
  const report = await withLedger(own, 'create', (ledger) => runDemo(ledger, root));
  await printReport(context, report, () => demoText(report, context, context.now() - began));
  return report.verify.ok && report.frozen.changed.length === 0 ? EXIT.done : EXIT.refused;
}

function emptyDirectory(path: string): string {
  if (isUsed(path))
    throw usageError(`${path} is not empty`, 'Give an empty directory, or one that is not there yet.', {
      option: '--dir',
      path,
    });
  return path;
}

function isUsed(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true });
    return readdirSync(path).length > 0;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('usage', `${path} can't be used: ${reason}`, {
      hint: 'Give a directory that can be written.',
      facts: { option: '--dir', path },
      cause,
    });
  }
}
