import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';
import type { Figure } from './figures.ts';
import { figureLines } from './figures.ts';

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Ends a run with what its tests counted, a line for each subject, and with one plain line, `N passed, N failed` or `N passed, N failed, N skipped`, for programs that
 * read the output.
 *
 * The line is written while the process exits, because other reporters and the runner itself may print after
 * the run has ended.
 */
export default class ClosingLineReporter implements Reporter {
  #tally: Tally = { passed: 0, failed: 0, skipped: 0 };

  #figures: readonly string[] = [];

  onInit(): void {
    process.once('exit', () =>
      process.stdout.write(`${[...this.#figures, toLine(this.#tally)].join('\n')}\n`),
    );
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tally = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) add(tally, module);
    this.#tally = tally;
    this.#figures = figureLines(modules.flatMap(figuresOf));
  }
}

function figuresOf(module: TestModule): readonly Figure[] {
  return [...module.children.allTests()].flatMap((test) => test.meta().figures ?? []);
}

function add(tally: Tally, module: TestModule): void {
  let failed = 0;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === 'passed') tally.passed += 1;
    else if (state === 'skipped') tally.skipped += 1;
    else failed += 1; // a test that never ended did not pass
  }
  // A file that can't be loaded, or whose hook throws, fails without a failed test.
  tally.failed += failed === 0 && module.state() === 'failed' ? 1 : failed;
}

function toLine({ passed, failed, skipped }: Tally): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
