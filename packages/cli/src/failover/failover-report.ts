import type { FailoverInput } from './failover-input.ts';
import type { NodeLook } from './look-at-node.ts';
import type { StepState } from './step-states.ts';
import { stepStates } from './step-states.ts';
import type { NodeMarks, Survey } from './survey.ts';

/** A node, as a report tells of it. */
export interface NodeReport {
  readonly node: string;
  readonly url: string;
  readonly health: NodeLook['health'];
  /** What it answers that it is; null if it does not answer. */
  readonly role: NodeLook['role'];
  readonly failed: boolean;
  readonly fenced: string | null;
}

/** Where a failover stands, as `--json` prints it. */
export interface FailoverReport {
  readonly epoch: number;
  readonly upstream: string | null;
  /** The node that answers as primary; null if neither does. */
  readonly primary: string | null;
  readonly fenced: readonly string[];
  readonly steps: readonly StepState[];
  readonly old: NodeReport;
  readonly new: NodeReport;
}

/** Puts the report of a survey together. */
export function failoverReport(
  survey: Survey,
  input: FailoverInput,
  throughPublic: NodeLook,
): FailoverReport {
  const nodes = [survey.new, survey.old];
  return {
    epoch: survey.epoch.epoch,
    upstream: survey.upstream,
    primary: nodes.find(({ look }) => look.role === 'primary')?.name ?? null,
    fenced: survey.fenced.map(({ name }) => name),
    steps: stepStates(survey, input, throughPublic),
    old: nodeReport(survey.old),
    new: nodeReport(survey.new),
  };
}

function nodeReport({ name, isFailed, fenced, look }: NodeMarks & { readonly look: NodeLook }): NodeReport {
  return { node: name, url: look.url, health: look.health, role: look.role, failed: isFailed, fenced };
}
