import { upstreamLine } from '../proxy/upstream.ts';
import type { FailoverInput, FailoverStep } from './failover-input.ts';
import type { NodeLook } from './look-at-node.ts';
import { isRaisedBy, nodesOf } from './preflight.ts';
import type { Survey } from './survey.ts';
import { placeOf } from './survey.ts';

/** A step, and whether there is nothing left of it to do. */
export interface StepState {
  readonly step: FailoverStep;
  readonly done: boolean;
}

/**
 * Which steps are done, as far as can be seen without writing.
 *
 * @param throughPublic the proxy, or the new node where no proxy was named.
 */
export function stepStates(
  survey: Survey,
  input: FailoverInput,
  throughPublic: NodeLook,
): readonly StepState[] {
  const isPromoted = survey.new.role === 'primary' && survey.new.look.role === 'primary';
  const isSwitched = isUpstream(survey, input);
  return [
    {
      step: 'preflight',
      done: survey.old.isFailed && survey.old.look.health === 'refused' && isUp(survey.new.look),
    },
    { step: 'fence', done: survey.old.fenced !== null && isRaisedBy(survey.epoch.record, nodesOf(survey)) },
    { step: 'promote', done: isPromoted },
    { step: 'switch', done: isSwitched },
    { step: 'verify', done: isPromoted && isSwitched && isServing(throughPublic, survey.new.name) },
  ];
}

/** Whether the proxy sends requests to the new node. */
export function isUpstream({ upstream }: Pick<Survey, 'upstream'>, { newUrl }: FailoverInput): boolean {
  return upstream === upstreamLine(placeOf(newUrl));
}

/** Whether somebody answers as the primary, and as no other node than this one. */
export function isServing({ health, role, node }: NodeLook, name: string): boolean {
  return health === 'ready' && role === 'primary' && [null, name].includes(node);
}

function isUp({ health }: NodeLook): boolean {
  return health === 'ready';
}
