import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineStyle, renderJson } from './root-json.ts';
import type { RootPlan } from './root-plan.ts';
import { layTrap, timestamp } from './root-plan.ts';
import { encode, inOrder } from './root-segments.ts';

const ROW = '{"task_id": "zz", "status": "failed", "delegated_runs_unreconciled": ["run-gone"]}';

/** Files among the rows that are no rows of ours: they stay as they are, byte for byte. */
const NO_ROWS: readonly (readonly [string, string | Buffer])[] = [
  ['zz-cut-0.json', '{"task_id": "zz-cut", "status": "failed", "delegated_runs_unre'],
  ['zz-list-1.json', `[${ROW}]`],
  ['zz-empty-2.json', ''],
  [
    'zz-future-3.json',
    '{"_schema_version": 2, "task_id": "zz-future", "status": "failed", "delegated_runs_unreconciled": ["run-gone"]}',
  ],
  [
    'zz-future-3b.json',
    '{"_schema_version": "1", "status": "failed", "delegated_runs_unreconciled": ["run-gone"]}',
  ],
  [
    'zz-future-3c.json',
    '{"_schema_version": null, "status": "failed", "delegated_runs_unreconciled": ["run-gone"]}',
  ],
  ['zz notes 4.txt', 'not a row\n'],
  ['.zz-hidden-5.json', ROW],
  ['_zz-under-6.json', ROW],
  ['zz row 7.json', ROW],
  [`zz-${'long'.repeat(32)}.json`, ROW],
  ['zz-string-8.json', '"failed"'],
  ['zz-null-9.json', 'null'],
  [
    'zz-latin-10.json',
    Buffer.from(
      '{"status": "failed", "result": "caf\u00e9", "delegated_runs_unreconciled": ["run-gone"]}',
      'latin1',
    ),
  ],
  ['zz-nul-11.json', '\u0000\u0000\u0000\u0000'],
  ['zz-backup-12.json.bak', ROW],
  ['zz-backup-13.json~', ROW],
  ['zz-two-14.json', `${ROW}\n${ROW}\n`],
];

/** Writes what stands beside the log and the rows: other logs, the fault file, files that are no rows. */
export function writeStrays(root: string, plan: RootPlan): void {
  const { random } = plan;
  const results = join(root, 'task_results');
  mkdirSync(join(results, 'quarantine'), { recursive: true });
  mkdirSync(join(results, 'zz-folder.json'));
  mkdirSync(join(root, 'archive'), { recursive: true });
  mkdirSync(join(root, 'logs'), { recursive: true });
  for (const [name, content] of NO_ROWS) {
    layTrap(plan, `no row: ${name.slice(0, 20)}`);
    writeFileSync(join(results, name), content);
  }
  writeFileSync(join(results, 'zz-folder.json', 'inner.json'), ROW);
  writeFileSync(join(results, 'quarantine', 'zz-old-15.json'), ROW);
  const decoys = plan.events
    .filter(({ row }) => row['type'] === 'delegate_run_started')
    .slice(0, 5)
    .map(
      ({ row }) =>
        `${renderJson({ ...row, type: 'delegate_run_settled', state: 'failed' }, lineStyle(random))}\n`,
    );
  writeFileSync(join(root, 'archive', 'chat_20260302T000000.jsonl'), encode(decoys.join('')));
  writeFileSync(join(root, 'archive', 'events_20260302T000000.jsonl.bak'), encode(decoys.join('')));
  writeFileSync(join(root, 'archive', 'notes.txt'), 'not a segment\n');
  const tick = { ts: timestamp(random, 5), type: 'supervisor_tick', pass: 1 };
  writeFileSync(join(root, 'logs', 'supervisor.jsonl'), `${renderJson(tick, lineStyle(random))}\n`);
  const faults = inOrder(plan.faultEvents).map(({ row }) => `${renderJson(row, lineStyle(random))}\n`);
  writeFileSync(join(root, 'logs', 'containment_faults.jsonl'), encode(faults.join('')));
}
