import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { StepFigures } from './history-step.ts';

const STEP = fileURLToPath(new URL('./history-step.js', import.meta.url));

/** Runs one step on a history in a process of its own, so that its time begins cold and its memory is its own. */
export function runStep(...args: readonly string[]): StepFigures {
  const { status, stdout, stderr } = spawnSync(process.execPath, [STEP, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout) as StepFigures;
}
