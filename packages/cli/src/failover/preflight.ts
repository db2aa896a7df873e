import type { EpochRecord, FailoverNodes } from '@custody/ledger';
import { failedFile, fencedFile } from '../state/state-folder.ts';
import type { FailoverConsent } from './failover-input.ts';
import type { Survey } from './survey.ts';

/** Why a failover is not begun, or does not go on. Running it again is right once the cause is gone. */
export interface FailoverRefusal {
  readonly outcome: 'refused';
  readonly reason: FailoverRefusalReason;
  /** What is the case, for people. */
  readonly message: string;
  readonly hint: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Each way in which a failover ends without being done. */
export type FailoverRefusalReason =
  | 'not_a_state_folder'
  | 'old_primary_answers'
  | 'old_primary_silent'
  | 'standby_not_ready'
  | 'other_node'
  | 'new_node_fenced'
  | 'not_the_primary'
  | 'another_primary'
  | 'not_marked_failed'
  | 'not_promoted'
  | 'not_verified';

/** Makes a refusal. */
export function refuse(
  reason: FailoverRefusalReason,
  {
    message,
    hint,
    facts = {},
  }: Omit<FailoverRefusal, 'outcome' | 'reason' | 'facts'> & { readonly facts?: object },
): FailoverRefusal {
  return { outcome: 'refused', reason, message, hint, facts: { ...facts } };
}

/** The first thing that stands against a failover; null if nothing does. Changes nothing. */
export function judge(survey: Survey, consent: FailoverConsent): FailoverRefusal | null {
  return (
    judgeFolder(survey) ??
    judgeOldNode(survey, consent) ??
    judgeNewNode(survey) ??
    judgeEpoch(survey.epoch.record, nodesOf(survey)) ??
    judgeOtherPrimaries(survey) ??
    judgeMark(survey, consent)
  );
}

/** The nodes of a failover, as its epoch names them. */
export function nodesOf(survey: Pick<Survey, 'old' | 'new'>): FailoverNodes {
  return { from_node: survey.old.name, to_node: survey.new.name };
}

/** Whether an epoch was raised by exactly this failover. */
export function isRaisedBy(record: EpochRecord | null, { from_node, to_node }: FailoverNodes): boolean {
  return record?.failover?.from_node === from_node && record.failover.to_node === to_node;
}

/** An empty folder is a wrong one: the standby would never hear that it is promoted. */
function judgeFolder(survey: Survey): FailoverRefusal | null {
  if (survey.upstream !== null || survey.new.role !== null) return null;
  return refuse('not_a_state_folder', {
    message: `the state folder says nothing of ${survey.new.name}, nor of an upstream`,
    hint: 'Give with --state the folder that the nodes and the proxy were started with.',
  });
}

function judgeOldNode(survey: Survey, { forceFence }: FailoverConsent): FailoverRefusal | null {
  const { name, look } = survey.old;
  const answering = answeringAs(survey);
  if (answering !== null) {
    return refuse('old_primary_answers', {
      message: `${name} still answers at ${answering}`,
      hint: 'A primary that answers is not failed over. Stop its process first, then run this again.',
      facts: { node: name, url: answering },
    });
  }
  if (look.health === 'refused' || forceFence) return null;
  return refuse('old_primary_silent', {
    message: `${name} at ${look.url} neither answers nor refuses connections (${look.fault})`,
    hint: 'Its process may only be paused. Stop it, or cut it off with --force-fence: what it writes later is refused.',
    facts: { node: name, url: look.url },
  });
}

/** Where the old primary answers: at its address, or behind the proxy at another one. Also --force-fence heeds it. */
function answeringAs({ old, behindProxy }: Survey): string | null {
  if (old.look.health === 'ready' || old.look.health === 'answers') return old.look.url;
  return behindProxy?.node === old.name ? behindProxy.url : null;
}

function judgeNewNode({ new: { name, look, fenced } }: Survey): FailoverRefusal | null {
  if (fenced !== null) {
    return refuse('new_node_fenced', {
      message: `${name} is fenced: ${fenced}`,
      hint: `A fenced name never serves again. Start that machine under a new node name; ${fencedFile(name)} stays.`,
      facts: { node: name },
    });
  }
  if (look.health !== 'ready') {
    return refuse('standby_not_ready', {
      message: `${name} at ${look.url} is not ready: ${look.fault}`,
      hint: 'Start the standby, and wait until GET /health answers "ready".',
      facts: { node: name, url: look.url },
    });
  }
  if (look.node === null || look.node === name) return null;
  return refuse('other_node', {
    message: `${look.url} is not ${name} but ${look.node}`,
    hint: 'Give the right --new, or the right --new-node.',
    facts: { node: name, url: look.url, answered: look.node },
  });
}

/**
 * Who holds the ledger is what the store says: its epoch was raised for one node, and only that one can lose it. So a
 * failover that is over is not run again by mistake, and of two at once one is refused.
 */
export function judgeEpoch(record: EpochRecord | null, nodes: FailoverNodes): FailoverRefusal | null {
  const last = record?.failover ?? null;
  if (last === null || last.to_node === nodes.from_node || isRaisedBy(record, nodes)) return null;
  return refuse('not_the_primary', {
    message: `${nodes.from_node} does not hold the ledger: at epoch ${record?.epoch} it was given to ${last.to_node}`,
    hint: `To go on from there, fail over from ${last.to_node} (--old-node ${last.to_node}).`,
    facts: { node: nodes.from_node, holder: last.to_node, epoch: record?.epoch },
  });
}

/** Once the store names a holder, nobody else can write, whatever role files say. */
function judgeOtherPrimaries({ epoch, primaries, old, new: { name } }: Survey): FailoverRefusal | null {
  if ((epoch.record?.failover ?? null) !== null) return null;
  const [other] = primaries.filter((primary) => primary !== old.name && primary !== name);
  if (other === undefined) return null;
  return refuse('another_primary', {
    message: `the state folder calls ${other} primary, and it is not fenced`,
    hint: `Fail over from ${other} (--old-node ${other}), or give its role file back to "replica".`,
    facts: { node: other },
  });
}

function judgeMark({ old }: Survey, { markFailed }: FailoverConsent): FailoverRefusal | null {
  if (old.isFailed || markFailed) return null;
  return refuse('not_marked_failed', {
    message: `nobody has marked ${old.name} as failed`,
    hint: `Make sure that its process is gone; then make ${failedFile(old.name)} in the state folder, or give --mark-failed.`,
    facts: { node: old.name },
  });
}
