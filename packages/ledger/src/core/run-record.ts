import type { JsonObject } from './json.ts';
import { isJsonObject, isTruthy, textOf } from './json.ts';

/** What an external run left as the work of a patch: nothing yet, or how it was dealt with. */
type PatchDisposition = '' | 'applied' | 'rejected' | 'superseded' | (string & {});

/** One reader that took a run's output. */
interface ReaderReceipt {
  readonly reader_task_id: string;
}

/** Everything the ledger knows of one run: an execution under custody. Field names are those of its events. */
export interface RunRecord {
  readonly run_id: string;
  /** False while only the end of the run is known: a settle that overtook its start. Such a run is neither open nor a receipt. */
  readonly started: boolean;
  /** `seq` of the first start; orders the runs of a task. 0 while not started. */
  readonly first_seq: number;
  /** `at` of the first start. */
  readonly started_at: string;
  readonly role: 'attempt' | 'delegate';
  /** True for an attempt at a managed task: commands on the task start and end it, nobody else. */
  readonly managed: boolean;
  readonly task_id: string;
  readonly facts: RunFacts;
  readonly project_id: string;
  readonly project_owned: boolean;
  readonly project_persistent: boolean;
  readonly resource_ref: JsonObject;
  readonly snapshot_id: string;
  readonly ledger_recorded: boolean;
  readonly settled: boolean;
  /** `seq` of the event that first settled the run; 0 while open. */
  readonly settled_seq: number;
  /** `at` of the newest event that settled the run; empty while open. */
  readonly settled_at: string;
  /** The first verdict's state; empty while open or closed as absent. */
  readonly terminal_state: string;
  readonly terminal_reason: string;
  /** True once a SETTLED (not merely an absence) was seen. */
  readonly has_verdict: boolean;
  /** Later verdicts that differ from the first: kept in the log, counted here, never applied. */
  readonly conflicting_verdicts: number;
  readonly containment_disclosed: boolean;
  readonly unread_disclosed: boolean;
  readonly output_artifact: string;
  readonly output_complete: boolean;
  readonly output_sha: string;
  readonly output_consumed: boolean;
  readonly output_reader_receipts: readonly ReaderReceipt[];
  readonly patch_captured: boolean;
  readonly patch_disposed: PatchDisposition;
  readonly patch_apply_pending: boolean;
  readonly patch_apply_key: string;
  readonly superseded_by: string;
  /** First non-zero `shape.max_seconds` (or `max_seconds`) of a start; 0 when none was given. */
  readonly max_seconds: number;
}

/** Descriptive fields of a run; every one is text. */
export interface RunFacts {
  readonly [name: string]: string | boolean | null | JsonObject;
}

/** Facts whose last start decides. */
const LAST_WINS = [
  'route',
  'model',
  'profile_id',
  'invocation_id',
  'idempotency_key',
  'root_task_id',
  'parent_task_id',
  'ledger_root',
  'continuation_of',
];

/** Facts whose first non-empty value decides. */
const FIRST_TRUTHY = [
  'execution_root',
  'execution_binding_fingerprint',
  'baseline_sha',
  'target_root',
  'capture_id',
  'snapshot_task_id',
  'authority_source',
  'selected_subagent_id',
  'config_fingerprint',
  'work_order_fingerprint',
  'work_order_coverage',
  'authority_fingerprint',
  'category',
  'source',
  'review_skill',
  'review_wave_id',
  'review_slot_id',
];

/** Facts whose first given value decides; an empty string is a value. */
const FIRST_GIVEN = ['effort', 'processing_preference', 'row_effort'];

const SHAPE = ['access', 'mode', 'isolation'];

/** Facts that a first start gives as text; empty when it does not. */
const TEXT_FACTS: ReadonlySet<string> = new Set([...LAST_WINS, ...FIRST_TRUTHY, ...SHAPE]);

const GIVEN_FACTS: ReadonlySet<string> = new Set(FIRST_GIVEN);

const DEFAULTS: Readonly<Record<string, string>> = { category: 'subagent', source: 'delegated_subagent' };

const NO_OBJECT: JsonObject = {};
const NO_FACTS: RunFacts = {};
const NO_RECEIPTS: readonly ReaderReceipt[] = [];

/** The record of a run of which nothing is known yet. */
export function emptyRun(runId: string): RunRecord {
  return {
    run_id: runId,
    started: false,
    first_seq: 0,
    started_at: '',
    role: 'delegate',
    managed: false,
    task_id: '',
    facts: NO_FACTS,
    project_id: '',
    project_owned: false,
    project_persistent: false,
    resource_ref: NO_OBJECT,
    snapshot_id: '',
    ledger_recorded: false,
    settled: false,
    settled_seq: 0,
    settled_at: '',
    terminal_state: '',
    terminal_reason: '',
    has_verdict: false,
    conflicting_verdicts: 0,
    containment_disclosed: false,
    unread_disclosed: false,
    output_artifact: '',
    output_complete: false,
    output_sha: '',
    output_consumed: false,
    output_reader_receipts: NO_RECEIPTS,
    patch_captured: false,
    patch_disposed: '',
    patch_apply_pending: false,
    patch_apply_key: '',
    superseded_by: '',
    max_seconds: 0,
  };
}

/**
 * Folds a start into what is known of the run (docs/contracts/custody.md, 1.4). A late repeat can't reopen
 * a settled run, drop its verdict, un-dispose its patch or own its project again.
 */
export function mergeStart(
  old: RunRecord,
  row: JsonObject,
  place: { readonly seq: number; readonly at: string },
): RunRecord {
  const known = old.started ? old : null;
  const owned = isTruthy(row['project_owned']);
  const persistent = isTruthy(row['project_persistent']);
  return {
    ...old,
    started: true,
    first_seq: known?.first_seq ?? place.seq,
    started_at: known?.started_at ?? place.at,
    role: row['role'] === 'attempt' ? 'attempt' : 'delegate',
    managed: isJsonObject(row['claim']),
    task_id: textOf(row, 'task_id'),
    facts: mergeFacts(known, row),
    project_id: textOf(row, 'project_id'),
    project_owned: known === null ? owned : known.project_owned && owned,
    project_persistent: persistent || (known?.project_persistent ?? false),
    resource_ref: mergeResourceRef(known, row),
    snapshot_id: firstText(known?.snapshot_id, textOf(row, 'snapshot_id')),
    max_seconds: known !== null && known.max_seconds > 0 ? known.max_seconds : maxSecondsOf(row),
  };
}

/**
 * The facts of a start that gives none. Read from a text, since an object that is filled field by field turns
 * into a slow table, and each run has a copy of this one.
 */
export const BLANK_FACTS: RunFacts = JSON.parse(JSON.stringify(blankFacts())) as RunFacts;

function blankFacts(): RunFacts {
  const facts: Record<string, string | boolean | null | JsonObject> = {};
  for (const name of LAST_WINS) facts[name] = '';
  for (const name of FIRST_TRUTHY) facts[name] = DEFAULTS[name] ?? '';
  for (const name of FIRST_GIVEN) facts[name] = null;
  facts['work_order_source_request'] = {};
  for (const name of SHAPE) facts[name] = '';
  facts['delegated'] = false;
  return facts;
}

/** Facts of the first start, when there is nothing that could stand in the way of what the row gives. */
function firstFacts(row: JsonObject): RunFacts {
  const facts: Record<string, string | boolean | null | JsonObject> = { ...BLANK_FACTS };
  for (const name of Object.keys(row)) {
    const value = row[name];
    if (TEXT_FACTS.has(name)) facts[name] = firstText(value, DEFAULTS[name]);
    else if (GIVEN_FACTS.has(name)) facts[name] = givenText(row, name);
  }
  if (isJsonObject(row['work_order_source_request']))
    facts['work_order_source_request'] = row['work_order_source_request'];
  const processIdentity = firstObject(undefined, row['process']);
  if (Object.keys(processIdentity).length > 0) facts['process'] = processIdentity;
  facts['delegated'] = isTruthy(row['delegated'] ?? null);
  return facts;
}

function mergeFacts(known: RunRecord | null, row: JsonObject): RunFacts {
  if (known === null) return firstFacts(row);
  const facts: Record<string, string | boolean | null | JsonObject> = { ...BLANK_FACTS };
  for (const name of LAST_WINS) facts[name] = textOf(row, name);
  for (const name of FIRST_TRUTHY)
    facts[name] = firstText(known.facts[name], textOf(row, name), DEFAULTS[name]);
  for (const name of FIRST_GIVEN) facts[name] = known.facts[name] ?? givenText(row, name);
  facts['work_order_source_request'] = firstObject(
    known.facts['work_order_source_request'],
    row['work_order_source_request'],
  );
  // How a local process is told from others with its pid; a repeat can't put another process in its place.
  const processIdentity = firstObject(known.facts['process'], row['process']);
  if (Object.keys(processIdentity).length > 0) facts['process'] = processIdentity;
  const shapeOwner = known.facts['access'] === '' ? null : known.facts;
  for (const name of SHAPE) facts[name] = shapeOwner?.[name] ?? textOf(row, name);
  facts['delegated'] =
    shapeOwner === null ? isTruthy(row['delegated'] ?? null) : (shapeOwner['delegated'] ?? false);
  return facts;
}

/** Part of the shape when the first row has an `access`, even empty; otherwise the first non-empty value. */
function mergeResourceRef(known: RunRecord | null, row: JsonObject): JsonObject {
  const offered = isJsonObject(row['resource_ref']) ? row['resource_ref'] : NO_OBJECT;
  if (known === null) return offered;
  const shapeIsKnown = known.facts['access'] !== '';
  if (shapeIsKnown || isTruthy(known.resource_ref)) return known.resource_ref;
  return offered;
}

/** The first value that is a text and not empty; empty when there is none. */
function firstText(...values: readonly unknown[]): string {
  return values.find((value): value is string => typeof value === 'string' && value !== '') ?? '';
}

function givenText(row: JsonObject, name: string): string | null {
  const value = row[name];
  return typeof value === 'string' ? value : null;
}

function firstObject(known: unknown, offered: unknown): JsonObject {
  if (isJsonObject(known) && Object.keys(known).length > 0) return known;
  return isJsonObject(offered) ? offered : NO_OBJECT;
}

function maxSecondsOf(row: JsonObject): number {
  const shape = row['shape'];
  const value = (isJsonObject(shape) ? shape['max_seconds'] : undefined) ?? row['max_seconds'];
  return typeof value === 'number' && value > 0 ? value : 0;
}

/** A run whose `source` names a review panel belongs to the panel: it is nobody else's debt. */
export function isReviewOwned(run: RunRecord): boolean {
  return isReviewSource(run.facts['source']);
}

/** True for the `source` of a review panel. */
export function isReviewSource(source: unknown): boolean {
  return typeof source === 'string' && source.startsWith('review_substrate');
}

/** A text fact of a run, empty when it is not known. */
export function factOf(run: RunRecord, name: string): string {
  const value = run.facts[name];
  return typeof value === 'string' ? value : '';
}
