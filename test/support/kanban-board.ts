import type { RawSqlite } from './raw-sqlite.ts';
import { openRawSqlite } from './raw-sqlite.ts';

const TABLES = `
  create table tasks (id text primary key, title text not null, body text, assignee text, status text not null,
    priority integer default 0, created_by text, created_at integer, started_at integer, completed_at integer,
    tenant text, claim_lock text, claim_expires integer, result text, consecutive_failures integer not null default 0,
    worker_pid integer, last_failure_error text, last_heartbeat_at integer, current_run_id integer, block_kind text,
    block_recurrences integer not null default 0, completed_run_id integer, skills text);
  create table task_runs (id integer primary key autoincrement, task_id text, profile text, step_key text,
    status text not null, claim_lock text, claim_expires integer, started_at integer not null, ended_at integer,
    outcome text, summary text, metadata text, error text);
  create table task_events (id integer primary key autoincrement, task_id text, run_id integer, kind text,
    payload text, created_at integer);
  create table task_links (parent_id text, child_id text, primary key (parent_id, child_id));`;

/** 2026-03-01T00:00:00Z in epoch seconds. */
const START = 1_772_323_200;

/** Makes a board as its own program keeps it: a completed task, one that is held, one that waits for a person. */
export function makeBoard(path: string): RawSqlite {
  const board = openRawSqlite(path);
  board.pragma('journal_mode = WAL');
  board.exec(TABLES);
  board.exec(`
    insert into tasks (id, title, status, assignee, created_at, started_at, completed_at, result, completed_run_id, skills)
      values ('t_00000001', 'Write it', 'done', 'coder', ${START}, ${START + 10}, ${START + 90}, 'written', 2, '["ts"]');
    insert into tasks (id, title, status, created_at, started_at, claim_lock, worker_pid, current_run_id)
      values ('t_00000002', 'Read it', 'running', ${START}, ${START + 20}, 'host:1', 4242, 3);
    insert into tasks (id, title, status, created_at, block_kind) values ('t_00000003', 'Ask', 'blocked', ${START}, 'needs_input');
    insert into tasks (id, title, status, created_at, completed_at) values ('t_00000004', 'Old', 'archived', ${START}, ${START + 5});
    insert into task_runs (task_id, profile, status, started_at, ended_at, outcome, summary, error)
      values ('t_00000001', 'coder', 'crashed', ${START + 10}, ${START + 30}, 'crashed', null, 'exit code 1'),
             ('t_00000001', 'coder', 'done', ${START + 40}, ${START + 90}, 'completed', 'written', null),
             ('t_00000002', 'reader', 'running', ${START + 20}, null, null, null, null);
    insert into task_events (task_id, run_id, kind, payload, created_at) values
      ('t_00000001', null, 'created', '{"assignee":"coder"}', ${START}),
      ('t_00000001', 1, 'claimed', '{"lock":"host:1"}', ${START + 10}),
      ('t_00000001', 1, 'heartbeat', null, ${START + 20}),
      ('t_00000001', 1, 'crashed', '{"error":"exit code 1"}', ${START + 30}),
      ('t_00000002', 3, 'claimed', null, ${START + 20}),
      ('t_00000001', 2, 'claimed', null, ${START + 40}),
      ('t_00000001', 2, 'completed', '{"summary":"written"}', ${START + 90}),
      ('t_00000003', null, 'blocked', '{"reason":"which one?"}', ${START + 91}),
      ('t_00000003', null, 'commented', '{"broken', ${START + 92}),
      ('t_00000003', null, 'a kind?', null, ${START + 93}),
      ('t_00000003', null, 'commented', null, null);`);
  return board;
}

/** Opens a board that was made before, as its own program does. */
export function openBoard(path: string): RawSqlite {
  return openRawSqlite(path);
}
