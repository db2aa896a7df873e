import { openLedger, parseStoreUrl } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { CliError, usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { FailoverInput } from '../failover/failover-input.ts';
import type { FailoverTools } from '../failover/failover-tools.ts';
import { planFailover } from '../failover/plan-failover.ts';
import type { FailoverRefusal } from '../failover/preflight.ts';
import { failoverStatus, promote } from '../failover/promote.ts';
import { readWriteToken } from '../failover/write-token.ts';
import { failoverText } from '../output/failover-text.ts';
import { printRefusal, printReport, remark } from '../output/report.ts';
import { checkStateFolder } from '../server/open-served.ts';

/** Options of both commands of a failover. */
export interface FailoverOptions {
  /** The state folder. */
  readonly state: string;
  readonly old: URL;
  readonly new: URL;
  readonly public?: URL | undefined;
  readonly oldNode?: string | undefined;
  readonly newNode?: string | undefined;
}

/** Options of `failover promote`. */
export interface FailoverPromoteOptions extends FailoverOptions {
  readonly markFailed?: boolean | undefined;
  readonly forceFence?: boolean | undefined;
  /** The file of tokens that the nodes use. */
  readonly tokenFile?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/** Says where a failover stands. Changes nothing. */
export async function failoverStatusCommand(
  context: CommandContext,
  options: FailoverOptions,
): Promise<ExitCode> {
  const report = await failoverStatus(await toolsFor(context, options));
  await printReport(context, report, () => failoverText(report));
  return EXIT.done;
}

/** Moves the ledger from a failed node to its standby, or goes on where an earlier run stopped. */
export async function failoverPromote(
  context: CommandContext,
  options: FailoverPromoteOptions,
): Promise<ExitCode> {
  const tools = await toolsFor(context, options);
  const outcome = options.dryRun === true ? await planFailover(tools) : await promote(tools);
  if ('outcome' in outcome) return printFailoverRefusal(context, outcome);
  await printReport(context, outcome, () => failoverText(outcome));
  return EXIT.done;
}

async function printFailoverRefusal(context: CommandContext, refusal: FailoverRefusal): Promise<ExitCode> {
  const { outcome, reason, message, hint, facts } = refusal;
  const printed = { outcome, reason, message, hint, ...facts };
  return printRefusal(context, printed, `refused, ${reason}: ${message}\nhint: ${hint}`);
}

async function toolsFor(context: CommandContext, options: FailoverPromoteOptions): Promise<FailoverTools> {
  const input = inputFrom(options);
  checkStore(context.storeUrl);
  await checkStateFolder(options.state);
  return {
    input,
    consent: { markFailed: options.markFailed ?? false, forceFence: options.forceFence ?? false },
    token: options.tokenFile === undefined ? null : await readWriteToken(options.tokenFile),
    open: (use) => openLedger(context.storeUrl, { create: false, readOnly: use === 'prove' }),
    now: context.now,
    tell: (step, text) => remark(context, `${step}: ${text}`),
  };
}

/** The epoch is raised where the data is, so nobody who only passes requests on can do it. */
function checkStore(storeUrl: string): void {
  const { kind } = parseStoreUrl(storeUrl);
  if (kind === 'sqlite' || kind === 'postgres') return;
  throw new CliError('not_supported', `a ${kind} store can't be failed over`, {
    hint: 'Give the SQLite or PostgreSQL store that the nodes serve, as they have it.',
    facts: { store: storeUrl },
  });
}

function inputFrom(options: FailoverOptions): FailoverInput {
  const { state, old, new: standby, oldNode, newNode } = options;
  if (old.origin === standby.origin)
    throw usageError('--old and --new are the same node', 'A failover goes from one node to another.', {
      option: '--new',
      value: standby.origin,
    });
  if (oldNode !== undefined && oldNode === newNode)
    throw usageError('--old-node and --new-node are the same', 'A failover goes from one node to another.', {
      option: '--new-node',
      value: newNode,
    });
  return {
    folder: state,
    oldUrl: old,
    newUrl: standby,
    publicUrl: options.public ?? null,
    oldNode: oldNode ?? null,
    newNode: newNode ?? null,
  };
}
