import type { Lease, Question, RunRecord, TaskCustody } from '@custody/ledger';
import { factOf } from '@custody/ledger';
import type { TaskAudit } from '@custody/reconciler';
import { printable } from '../output/printable.ts';

/** What kind of thing is owed, or held. */
type OwedKind = 'run' | 'start' | 'patch' | 'question' | 'lease' | 'attempt' | 'unknown';

/** One thing that a task owes, or that a run holds. */
export interface OwedItem {
  readonly task_id: string;
  readonly kind: OwedKind;
  /** Its name: a run, an invocation, a question, or why nobody knows. */
  readonly id: string;
  readonly run_id: string | null;
  /** Since when; null when the log does not tell. */
  readonly since: string | null;
  readonly age_ms: number | null;
  /** Who has it: the name under which a run claimed, or what executes it; null when nobody said. */
  readonly holder: string | null;
  /** Why it is listed, for people. */
  readonly reason: string;
  /** What deals with it, or shows more of it; a shell takes it as it is but for words in capitals. */
  readonly command: string;
}

/** What the items of one task are made from. */
export interface TaskFacts {
  readonly audit: TaskAudit;
  readonly custody: TaskCustody | undefined;
  /** Of a managed task that is held. */
  readonly lease: Lease | undefined;
  /** Questions of the task that wait for an answer. */
  readonly questions: readonly Question[];
}

/** How items are told. */
export interface Telling {
  /** The moment to which ages are counted, in milliseconds since the Unix epoch; null when there is none. */
  readonly nowMs: number | null;
  /** The command with the store that it is to open, such as `custody -s sqlite:x.db`. */
  readonly program: string;
  /**
   * True for what was: nothing deals with that any more. Signs of life are in no log, so a lease may have been kept
   * beyond what the log says.
   */
  readonly isPast: boolean;
}

type Draft = Omit<OwedItem, 'task_id' | 'age_ms' | 'command'> & { readonly args: string };

/** Everything that a task owes and every run that holds it, in no order. */
export function owedItems(facts: TaskFacts, telling: Telling): readonly OwedItem[] {
  const { task_id } = facts.audit;
  const { nowMs, program, isPast } = telling;
  const drafts = [
    ...facts.audit.audit.unreconciled.map((name) => debtDraft(name, facts)),
    ...facts.audit.open_attempts.map((runId) => attemptDraft(runId, facts, telling)),
    ...facts.questions.map(questionDraft),
  ];
  return drafts.map(({ args, ...draft }) => ({
    ...draft,
    task_id,
    age_ms: draft.since === null || nowMs === null ? null : Math.max(0, nowMs - Date.parse(draft.since)),
    command: commandOf(program, isPast ? lookAt(task_id, draft.run_id) : args),
  }));
}

function lookAt(taskId: string, runId: string | null): string {
  return runId === null ? `inspect task ${taskId}` : `inspect run ${runId}`;
}

/** The program with its arguments, or with an event on its stdin. */
function commandOf(program: string, args: string): string {
  return args.startsWith('{') ? `echo '${args}' | ${program} append` : `${program} ${args}`;
}

/** True for a run that holds its task as it should: that is no debt. */
export function isHeld(item: Pick<OwedItem, 'kind'>): boolean {
  return item.kind === 'attempt';
}

function debtDraft(name: string, facts: TaskFacts): Draft {
  if (facts.audit.audit.audit_status === 'failed') {
    const reason = 'the log can not be read';
    return { kind: 'unknown', id: name, run_id: null, since: null, holder: null, reason, args: 'verify' };
  }
  if (name.startsWith('invocation:')) return startDraft(name.slice('invocation:'.length), facts);
  if (name.startsWith('patch:')) return patchDraft(name.slice('patch:'.length), facts);
  return runDraft(name, facts);
}

function runDraft(runId: string, { audit, custody }: TaskFacts): Draft {
  const run = custody?.runs.find((item) => item.run_id === runId);
  const isOrphan = audit.terminal || audit.status === null;
  return {
    kind: 'run',
    id: runId,
    run_id: runId,
    since: timeOf(run?.started_at),
    holder: holderOf(run),
    reason: audit.status === null ? 'not ended; no row' : `not ended; task ${audit.status}`,
    args: isOrphan ? 'sweep --live @FILE --gateway GATEWAY' : `inspect run ${runId}`,
  };
}

function startDraft(invocationId: string, { audit, custody }: TaskFacts): Draft {
  const invocation = custody?.invocations.find((item) => item.invocation_id === invocationId);
  return {
    kind: 'start',
    id: invocationId,
    run_id: null,
    since: timeOf(invocation?.requested_at),
    holder: null,
    reason: 'asked for; outcome unknown',
    args: `inspect task ${audit.task_id}`,
  };
}

function patchDraft(runId: string, { custody }: TaskFacts): Draft {
  const run = custody?.runs.find((item) => item.run_id === runId);
  const end = run === undefined || run.terminal_state === '' ? 'ended' : run.terminal_state;
  return {
    kind: 'patch',
    id: runId,
    run_id: runId,
    since: timeOf(run?.settled_at),
    holder: holderOf(run),
    reason: `run ${end}; applied or rejected?`,
    args: JSON.stringify({ type: 'patch.disposed', run_id: runId, disposition: 'HOW' }),
  };
}

function attemptDraft(runId: string, facts: TaskFacts, { nowMs, isPast }: Telling): Draft {
  const run = facts.custody?.runs.find((item) => item.run_id === runId);
  const lease = facts.lease?.run_id === runId ? facts.lease : undefined;
  const isLost = !isPast && lease !== undefined && nowMs !== null && lease.expires_at_ms <= nowMs;
  const until = lease === undefined ? '' : clockOf(lease.expires_at_ms);
  return {
    kind: isLost ? 'lease' : 'attempt',
    id: runId,
    run_id: runId,
    since: timeOf(run?.started_at),
    holder: lease?.holder ?? holderOf(run),
    reason: isLost ? `lease ran out ${until}` : heldReason(until, isPast),
    args: isLost ? 'sweep' : `inspect run ${runId}`,
  };
}

function heldReason(until: string, isPast: boolean): string {
  if (until === '') return 'holds the task';
  return isPast ? 'held; until when is not logged' : `until ${until}`;
}

function questionDraft(question: Question): Draft {
  const { question_id: id, run_id, asked_at, options } = question;
  const choice = options.length === 0 ? 'in words' : options.map((option) => printable(option)).join(' or ');
  return {
    kind: 'question',
    id,
    run_id,
    since: asked_at,
    holder: null,
    reason: `${printable(question.text)} (${choice})`,
    args: `question answer ${id} --option OPTION`,
  };
}

/** What executes a run that nobody claimed here: its route, else its profile, else its model. */
function holderOf(run: RunRecord | undefined): string | null {
  if (run === undefined) return null;
  return factOf(run, 'route') || factOf(run, 'profile_id') || factOf(run, 'model') || null;
}

function timeOf(at: string | undefined): string | null {
  return at === undefined || at === '' ? null : at;
}

/** The time of day, UTC. */
function clockOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
