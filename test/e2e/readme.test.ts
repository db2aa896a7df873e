import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CLI_BIN, cliBench, finished } from '../support/cli.ts';
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

const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** The text with what differs from run to run replaced. */
function steady(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, 'TIME')
    .replaceAll(/\b\d+[a-z]+ ago/g, 'AGE')
    .replaceAll(/(?<=^|for )\d+s(?=,| +task-)/gm, 'AGE')
    .replaceAll(/[0-9a-f]{64}/g, 'HASH')
    .replaceAll(ID, 'ID');
}

/** Runs a line as a person would type it, with what it prints in the order in which it is printed. */
async function typed(
  command: string,
  place: { readonly dir: string; readonly path: string },
): Promise<string> {
  const child = spawn('sh', ['-c', `exec 2>&1\n${command}`], { cwd: place.dir, env: { PATH: place.path } });
  child.stdin.end();
  return (await finished(child)).stdout;
}

test.for(codeBlocks(readme, 'console').map((block, index) => ({ block, number: index + 1 })))(
  'the commands of console block $number of the README print what it says',
  async ({ block }) => {
    const { dir } = cliBench();
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'custody'), `#!/bin/sh\nexec '${process.execPath}' '${CLI_BIN}' "$@"\n`);
    chmodSync(join(bin, 'custody'), 0o755);
    const path = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    /** Ids of this run by those that the README shows. */
    const ids = new Map<string, string>();
    const steps = stepsOf(block);

    for (const { command, output } of steps) {
      const printed = await typed(
        command.replaceAll(ID, (id) => ids.get(id) ?? id),
        { dir, path },
      );

      expect(`${command}\n${steady(printed)}`).toBe(`${command}\n${steady(output)}`);
      const shown = output.match(ID) ?? [];
      for (const [index, id] of (printed.match(ID) ?? []).entries()) ids.set(shown[index] ?? id, id);
    }
    expect(steps.length).toBeGreaterThan(5);
  },
);

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
