import type { NothingClaimed, Refusal } from '@custody/ledger';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { refusalStatus } from '../api-errors.ts';
import type { Reply } from './route.ts';

/** What a command answered, with its status: the given one, or that of its "no". */
export function replyTo(answer: { readonly outcome: string }, status: ContentfulStatusCode = 200): Reply {
  return { value: answer, status: isNo(answer) ? refusalStatus(answer.reason) : status };
}

function isNo(answer: { readonly outcome: string }): answer is Refusal | NothingClaimed {
  return answer.outcome === 'refused' || answer.outcome === 'none';
}
