import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { startProgress } from '../output/progress.ts';
import { printReport } from '../output/report.ts';
import type { SimulationReport } from '../output/simulation-report.ts';
import { simulationText } from '../output/simulation-text.ts';
import type { PlaceKind } from '../simulation/place-kinds.ts';
import type { SeedResult } from '../simulation/play-seed.ts';
import { repeatCommand } from '../simulation/play-seed.ts';

/** Options of `simulate`. */
export interface SimulateOptions {
  readonly seed?: number | undefined;
  readonly steps?: number | undefined;
  readonly on?: PlaceKind | undefined;
}

const DEFAULTS = { seed: 1, steps: 200, on: 'memory' } as const;

/** Plays an invented history with faults against a ledger of its own, and checks what custody promises after each step. */
export async function simulate(context: CommandContext, options: SimulateOptions): Promise<ExitCode> {
  const { playSeed } = await import('../simulation/play-seed.ts');
  const { FAULTS } = await import('../simulation/figures.ts');
  const { PROMISES } = await import('../simulation/promise-broken.ts');
  const asked = {
    seed: options.seed ?? DEFAULTS.seed,
    steps: options.steps ?? DEFAULTS.steps,
    on: options.on ?? DEFAULTS.on,
  };
  const progress = startProgress(context.err, context.now);
  progress.show(`seed ${asked.seed}: playing ${asked.steps} steps`);
  const result = await playSeed(asked);
  progress.end();
  const report: SimulationReport = {
    ...asked,
    ok: result.failure === null,
    trace_hash: result.hash,
    faults: FAULTS.map((fault) => ({ fault, count: result.figures.faults.get(fault) ?? 0 })),
    checks: PROMISES.map((promise) => ({ promise, count: result.figures.checks.get(promise) ?? 0 })),
    failure: failureOf(result),
    repeat: repeatCommand(asked),
  };
  await printReport(context, report, () => simulationText(report, context));
  return report.ok ? EXIT.done : EXIT.refused;
}

function failureOf({ failure, shortest }: SeedResult): SimulationReport['failure'] {
  if (failure === null) return null;
  return { ...failure, history: shortest?.result.trace ?? [] };
}
