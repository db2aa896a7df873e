import type { ContainmentRecord } from './containment.ts';
import { emptyContainment, foldContainment } from './containment.ts';
import { EvidenceByRun } from './evidence-by-run.ts';
import { foldRun } from './fold-run.ts';
import type { InvocationRecord } from './invocation.ts';
import { emptyInvocation, foldInvocation } from './invocation.ts';
import type { JsonObject } from './json.ts';
import { textOf } from './json.ts';
import type { RecordedEvent } from './recorded-event.ts';
import type { TaskFacts } from './run-evidence.ts';
import { emptyEvidence, emptyTaskFacts, foldEvidence, foldTaskFacts } from './run-evidence.ts';
import type { RunRecord } from './run-record.ts';
import { emptyRun } from './run-record.ts';

/** Which records a batch of events may read or change; a store loads them before it folds. */
export interface FoldKeys {
  readonly runIds: ReadonlySet<string>;
  readonly invocationIds: ReadonlySet<string>;
  readonly taskIds: ReadonlySet<string>;
}

/** An event whose place in the log may still be open. */
export type UnplacedEvent = JsonObject & { readonly type: string };

/** Types that no record depends on. */
const INERT = new Set([
  'custody.unreconciled',
  'custody.reconciled',
  'ledger.checkpoint',
  'ledger.epoch_raised',
  'task.recorded',
  // Of the events of managed tasks only those that end a run change what is owed.
  'task.created',
  'task.linked',
  'task.assigned',
  'task.commented',
  'task.unblocked',
  'task.specified',
  'task.decomposed',
  'task.promoted',
  'task.gave_up',
  'question.raised',
  'question.answered',
  'verdict.delivered',
  'run.pushed',
  'run.submitted',
  'claim.extended',
  'claim.deferred',
  'lease.restamped',
]);

/** What must be in the fold before the events are applied. Projects are looked up in a second step. */
export function foldKeys(events: readonly UnplacedEvent[]): FoldKeys {
  const keys = { runIds: new Set<string>(), invocationIds: new Set<string>(), taskIds: new Set<string>() };
  for (const event of events) {
    if (INERT.has(event.type) || event.type.startsWith('x.')) continue;
    const runId = textOf(event, 'run_id');
    const taskId = textOf(event, 'task_id');
    add(keys.runIds, runId);
    if (event.type === 'run.started') add(keys.runIds, textOf(event, 'continuation_of'));
    add(keys.invocationIds, textOf(event, 'invocation_id'));
    add(keys.taskIds, taskId);
  }
  return keys;
}

/** The projects whose owned runs must be in the fold too, once the runs of {@link foldKeys} are. */
export function projectKeys(events: readonly UnplacedEvent[], fold: CustodyFold): ReadonlySet<string> {
  const projects = new Set<string>();
  if (!events.some((event) => event.type === 'project.retired')) return projects;
  for (const event of events) {
    if (event.type === 'project.retired' || event.type === 'run.started')
      add(projects, textOf(event, 'project_id'));
    if (event.type === 'project.retired')
      add(projects, fold.runs.get(textOf(event, 'run_id'))?.project_id ?? '');
  }
  return projects;
}

function add(set: Set<string>, id: string): void {
  if (id !== '') set.add(id);
}

/** The tasks that one event touches: nearly always one, so a list is cheaper than a set until there are many. */
class TouchedTasks {
  #few: string[] = [];
  #many: Set<string> | null = null;

  add(id: string): void {
    if (id === '') return;
    if (this.#many !== null) this.#many.add(id);
    else if (!this.#few.includes(id)) this.#few.push(id);
    if (this.#few.length <= 16) return;
    this.#many = new Set(this.#few);
    this.#few = [];
  }

  all(): Iterable<string> {
    return this.#many ?? this.#few;
  }
}

/**
 * The fold of the log: runs, invocations, evidence and containment, changed in place by {@link CustodyFold.apply}.
 *
 * A store keeps the records by key: it loads what {@link foldKeys} names, applies its events, and writes back
 * what `changed` names, all in the transaction of the append. A full replay uses one fold for the whole log.
 * Records are immutable; the maps are the only state. Only a replay that tracks no changes changes its task facts
 * in place: it is read when the log has been applied.
 */
export class CustodyFold {
  readonly runs = new Map<string, RunRecord>();
  readonly invocations = new Map<string, InvocationRecord>();
  readonly evidence = new EvidenceByRun();
  readonly tasks = new Map<string, TaskFacts>();
  readonly containment = new Map<string, ContainmentRecord>();
  readonly changed = {
    runs: new Set<string>(),
    invocations: new Set<string>(),
    evidence: new EvidenceByRun(),
    tasks: new Set<string>(),
    containment: new Set<string>(),
  };
  readonly #tracksChanges: boolean;
  readonly #runsByProject = new Map<string, Set<string>>();

  /** A replay of a whole log writes nothing back, and need not remember what changed. */
  constructor({ tracksChanges = true }: { readonly tracksChanges?: boolean } = {}) {
    this.#tracksChanges = tracksChanges;
  }

  /** Puts a record loaded from a store into the fold. */
  loadRun(run: RunRecord): void {
    this.runs.set(run.run_id, run);
    this.#indexProject(run);
  }

  /** Applies one event. Unknown types and rows without ids change nothing. */
  apply(event: RecordedEvent): void {
    if (INERT.has(event.type) || event.type.startsWith('x.')) return;
    const touched = new TouchedTasks();
    const taskId = textOf(event, 'task_id');
    const runId = textOf(event, 'run_id');
    touched.add(taskId);
    this.#foldRunOf(event, runId, touched);
    this.#foldInvocationOf(event, touched);
    if (runId !== '') {
      if (taskId !== '') this.#foldEvidenceOf(event, taskId, runId);
      // The start tells whose run it is, and with that whose evidence it counts in.
      if (event.type === 'run.started')
        for (const item of this.evidence.ofRun(runId)) touched.add(item.task_id);
      this.#foldContainmentOf(event, runId);
    }
    for (const id of touched.all()) this.#touchTask(id, event, id === taskId);
  }

  #foldRunOf(event: RecordedEvent, runId: string, touched: TouchedTasks): void {
    if (runId === '') return;
    const before = this.runs.get(runId) ?? emptyRun(runId);
    const after = foldRun(before, event);
    if (after !== before) this.#putRun(after, touched);
    touched.add(before.task_id);
    if (event.type === 'run.started') this.#supersede(runId, event, touched);
    if (event.type === 'project.retired' && after.started) {
      this.#retireProject(textOf(event, 'project_id') || after.project_id, touched);
      this.#disown(runId, touched);
    }
  }

  /** A continuation in its predecessor's snapshot takes the patch debt over. */
  #supersede(runId: string, start: RecordedEvent, touched: TouchedTasks): void {
    const predecessor = this.runs.get(textOf(start, 'continuation_of'));
    if (predecessor === undefined || !predecessor.started || predecessor.run_id === runId) return;
    const snapshot = textOf(start, 'snapshot_id');
    if (textOf(start, 'capture_id') === '' || snapshot === '' || predecessor.snapshot_id !== snapshot) return;
    if (predecessor.patch_disposed !== '' && predecessor.patch_disposed !== 'superseded') return;
    this.#putRun({ ...predecessor, patch_disposed: 'superseded', superseded_by: runId }, touched);
  }

  #retireProject(projectId: string, touched: TouchedTasks): void {
    if (projectId === '') return;
    for (const id of this.#runsByProject.get(projectId) ?? []) {
      if (this.runs.get(id)?.project_id === projectId) this.#disown(id, touched);
    }
  }

  #disown(runId: string, touched: TouchedTasks): void {
    const run = this.runs.get(runId);
    if (run?.project_owned === true) this.#putRun({ ...run, project_owned: false }, touched);
  }

  #foldInvocationOf(event: RecordedEvent, touched: TouchedTasks): void {
    const id = textOf(event, 'invocation_id');
    if (id === '') return;
    const before = this.invocations.get(id) ?? emptyInvocation(id);
    const after = foldInvocation(before, event);
    if (after === before) return;
    this.invocations.set(id, after);
    if (this.#tracksChanges) this.changed.invocations.add(id);
    touched.add(after.task_id);
  }

  #foldEvidenceOf(event: RecordedEvent, taskId: string, runId: string): void {
    const before = this.evidence.get(taskId, runId) ?? emptyEvidence(taskId, runId);
    const after = foldEvidence(before, event);
    if (after === before) return;
    this.evidence.set(after);
    if (this.#tracksChanges) this.changed.evidence.set(after);
  }

  #foldContainmentOf(event: RecordedEvent, runId: string): void {
    const before = this.containment.get(runId);
    // A settle of a run that never had a fault is no news; it is remembered on the run itself.
    if (before === undefined && !event.type.startsWith('containment.')) return;
    const start = before ?? this.#containmentOfSettledRun(runId);
    const after = foldContainment(start, event);
    if (after === before) return;
    this.containment.set(runId, after);
    if (this.#tracksChanges) this.changed.containment.add(runId);
  }

  #containmentOfSettledRun(runId: string): ContainmentRecord {
    const run = this.runs.get(runId);
    return { ...emptyContainment(runId), closed_at: run?.settled_at ?? '' };
  }

  #touchTask(taskId: string, event: RecordedEvent, isOwnRow: boolean): void {
    const known = this.tasks.get(taskId);
    const before = known ?? emptyTaskFacts(taskId);
    const flagged = isOwnRow ? foldTaskFacts(before, event) : before;
    if (this.#tracksChanges) {
      this.tasks.set(taskId, { ...flagged, last_seq: event.seq });
      this.changed.tasks.add(taskId);
      return;
    }
    // Nobody reads a replay before its end, so its records of tasks are its own to change.
    (flagged as { last_seq: number }).last_seq = event.seq;
    if (flagged !== known) this.tasks.set(taskId, flagged);
  }

  #putRun(run: RunRecord, touched: TouchedTasks): void {
    this.runs.set(run.run_id, run);
    if (this.#tracksChanges) this.changed.runs.add(run.run_id);
    this.#indexProject(run);
    touched.add(run.task_id);
  }

  #indexProject(run: RunRecord): void {
    if (!run.project_owned || run.project_id === '') return;
    const ids = this.#runsByProject.get(run.project_id);
    if (ids === undefined) this.#runsByProject.set(run.project_id, new Set([run.run_id]));
    else ids.add(run.run_id);
  }
}
