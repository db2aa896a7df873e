import { expect, test } from 'vitest';
import { cliBench, shaped } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';

const HASH = 'a'.repeat(64);

test.for([
  { args: [], says: /command is missing/ },
  { args: ['event'], says: /command is missing/ },
  { args: ['nope'], says: /unknown command 'nope'/ },
  { args: ['task', 'nope'], says: /unknown command 'nope'/ },
  { args: ['swerve'], says: /unknown command/ },
  { args: ['serve'], says: /required option '--listen / },
  { args: ['audit', '--nope'], says: /unknown option '--nope'/ },
  { args: ['clear'], says: /missing required argument 'task'/ },
  { args: ['task', 'get'], says: /missing required argument 'id'/ },
  { args: ['task', 'get', 'a', 'b'], says: /too many arguments/ },
  { args: ['stats', 'now'], says: /too many arguments/ },
  { args: ['event', 'list', '--limit', 'ten'], says: /--limit takes a whole number, not "ten"/ },
  { args: ['event', 'list', '--after', '-1'], says: /--after/ },
  { args: ['event', 'list', '--limit'], says: /argument missing/ },
  { args: ['event', 'follow', '--interval', 'often'], says: /--interval takes a duration/ },
  { args: ['verify', '--expect-head', '5'], says: /--expect-head takes SEQ:HASH/ },
  { args: ['backfill', '--plan', 'latest'], says: /--plan takes the plan_hash/ },
  { args: ['backfill', '--dry-run', '--plan', HASH], says: /exclude each other/ },
  { args: ['reconcile'], says: /--every, --cron or --once/ },
  { args: ['reconcile', '--every', '30s', '--cron', '* * * * *'], says: /exclude each other/ },
  { args: ['reconcile', '--every', '30'], says: /--every takes a duration/ },
  { args: ['sweep', '--gateway', 'carrier-pigeon'], says: /no gateway/ },
  { args: ['sweep', '--live', '@no-such-file'], says: /no-such-file can't be read/ },
  { args: ['-s', 'ledger.db', 'init'], says: /no store URL/ },
  { args: ['-s', 'sqlite:', 'init'], says: /names no place/ },
  { args: ['-s', 'mysql://host/db', 'init'], says: /no store URL/ },
  { args: ['-s', 'sqlite:a.db?speed=fast', 'init'], says: /"speed" is unknown/ },
  { args: ['-s'], says: /argument missing/ },
] as const)('$args is wrong usage: exit 2, with what would be right', async ({ args, says }) => {
  const bench = cliBench();

  const asJson = await bench.json(args);
  const asText = await bench.run(args);

  const { error } = shaped(ERROR_SCHEMA, asJson.value);
  expect(asJson.code).toBe(2);
  expect(error.message).toMatch(says);
  expect(asText.code).toBe(2);
  expect(asText.stdout).toBe('');
  expect(asText.stderr).toMatch(says);
  expect(asText.stderr).toMatch(/^hint: /m);
  expect(asText.stderr).not.toMatch(/^\s+at /m);
});

test('a bad cron expression is refused before anything runs', async () => {
  const bench = cliBench();
  await bench.run(['init']);

  expect(await bench.json(['reconcile', '--cron', 'whenever'])).toMatchObject({
    code: 2,
    value: { error: { code: 'invalid_option' } },
  });
});

test('an error after --json in any place is JSON on stdout, with nothing on stderr', async () => {
  const bench = cliBench();

  for (const args of [
    ['--json', 'nope'],
    ['nope', '--json'],
    ['event', 'list', '--limit', 'ten', '--json'],
    ['--json', 'audit'],
  ]) {
    const { stdout, stderr } = await bench.run(args);
    shaped(ERROR_SCHEMA, JSON.parse(stdout));
    expect(stderr).toBe('');
  }
});

test('a stack trace is shown only to who sets CUSTODY_DEBUG', async () => {
  const bench = cliBench();

  const quiet = await bench.run(['audit']);
  const loud = await bench.run(['audit'], { env: { CUSTODY_DEBUG: '1' } });

  expect(quiet.stderr).not.toMatch(/^\s+at /m);
  expect(loud.stderr).toMatch(/^\s+at /m);
  expect(loud.code).toBe(quiet.code);
});

test('help is asked for: on stdout, exit 0, with an example for every command', async () => {
  const bench = cliBench();

  const help = await bench.run(['--help']);
  const ofCommand = await bench.run(['help', 'backfill']);
  const ofSubcommand = await bench.run(['event', 'append', '--help']);

  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('Exit codes: 0 done');
  expect(ofCommand).toMatchObject({ code: 0, stderr: '' });
  expect(ofCommand.stdout).toContain('custody backfill --dry-run');
  expect(ofSubcommand.stdout).toContain('Example:');
});
