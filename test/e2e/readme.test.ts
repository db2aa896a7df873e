import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cliBench, finished } from '../support/cli.ts';
import { codeBlocks, PROJECT, readProjectFile } from '../support/documents.ts';

const readme = readProjectFile('README.md');

/** One command of a console block, with what it prints. */
interface Step {
  readonly command: string;
  output: string;
}

function stepsOf(block: string): readonly Step[] {
  const steps: Step[] = [];
  for (const line of block.trimEnd().split('\n')) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
    else if (last !== undefined) last.output += `${line}\n`;
  }
  return steps;
}

/** The text with what differs from run to run replaced. */
function steady(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\b\d+[a-z]+ ago/g, 'AGE')
    .replaceAll(/[0-9a-f]{64}/g, 'HASH');
}

test('the commands of the README print what it says', async () => {
  const { dir } = cliBench();
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'custody'),
    `#!/bin/sh\nexec '${process.execPath}' '${join(PROJECT, 'packages/cli/bin/custody.js')}' "$@"\n`,
  );
  chmodSync(join(bin, 'custody'), 0o755);
  const env = { PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` };
  const steps = stepsOf(codeBlocks(readme, 'console')[0] ?? '');

  for (const { command, output } of steps) {
    const child = spawn('sh', ['-c', command], { cwd: dir, env });
    child.stdin.end();

    const result = await finished(child);

    expect(`${command}\n${steady(result.stdout)}${result.stderr}`).toBe(`${command}\n${steady(output)}`);
  }
  expect(steps.length).toBeGreaterThan(5);
});

test('the program of the README runs, and ends at SIGTERM', async () => {
  const { path } = cliBench();
  const [program = ''] = codeBlocks(readme, 'ts');
  // Its own place for the store, and an executor that is not there.
  const placed = program
    .replace('sqlite:custody.db', `sqlite:${path('custody.db')}`)
    .replace('http://localhost:8080/', 'http://127.0.0.1:1/');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', placed], {
    cwd: join(PROJECT, 'test'),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  child.stdout.on('data', (text: Buffer) => {
    if (text.toString().includes('kill_path_clear')) child.kill('SIGTERM');
  });

  const result = await finished(child);

  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toContain("action: 'unreadable'");
});
