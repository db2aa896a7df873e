import type { FailoverReport, NodeReport } from '../failover/failover-report.ts';
import type { PlannedAction } from '../failover/plan-failover.ts';
import { printable } from './printable.ts';

/** What each look at a node means to people. */
const HEALTH: Readonly<Record<NodeReport['health'], string>> = {
  ready: 'is ready',
  answers: 'answers, but is not ready',
  refused: 'refuses connections',
  silent: 'neither answers nor refuses connections',
};

/** Where a failover stands, for people. */
export function failoverText(report: FailoverReport & { readonly plan?: readonly PlannedAction[] }): string {
  const { epoch, upstream, primary, fenced, steps, plan } = report;
  return [
    `epoch     ${epoch}`,
    `upstream  ${upstream === null ? 'none' : printable(upstream)}`,
    `primary   ${primary ?? 'nobody'}`,
    `fenced    ${fenced.length === 0 ? 'nobody' : fenced.join(', ')}`,
    `old       ${nodeText(report.old)}`,
    `new       ${nodeText(report.new)}`,
    ...steps.map(({ step, done }) => `${step.padEnd(9)} ${done ? 'done' : 'not done'}`),
    ...(plan === undefined ? [] : ['would do:', ...plan.map(({ step, action }) => `  ${step}: ${action}`)]),
  ].join('\n');
}

function nodeText({ node, url, health, role, failed, fenced }: NodeReport): string {
  const facts = [
    HEALTH[health],
    ...(role === null ? [] : [`as ${role}`]),
    ...(failed ? ['marked as failed'] : []),
    ...(fenced === null ? [] : [printable(fenced)]),
  ];
  return `${node} (${url}) ${facts.join(', ')}`;
}
