import type { EpochRecord } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { judge } from '../../../packages/cli/src/failover/preflight.ts';
import type { Survey } from '../../../packages/cli/src/failover/survey.ts';

/** What is seen of a failover that nothing stands against. */
function surveyWith({
  old = {},
  standby = {},
  ...more
}: {
  readonly old?: Partial<Survey['old']>;
  readonly standby?: Partial<Survey['new']>;
} & Partial<Omit<Survey, 'old' | 'new'>> = {}): Survey {
  const look = { role: null, node: null, fault: null };
  return {
    epoch: { epoch: 1, record: null },
    upstream: '8081',
    behindProxy: null,
    fenced: [],
    primaries: ['primary'],
    ...more,
    old: {
      name: 'primary',
      role: 'primary',
      isFailed: true,
      fenced: null,
      look: { ...look, url: 'http://127.0.0.1:8081', health: 'refused' },
      ...old,
    },
    new: {
      name: 'replica',
      role: 'replica',
      isFailed: false,
      fenced: null,
      look: { ...look, url: 'http://127.0.0.1:8082', health: 'ready', role: 'replica', node: 'replica' },
      ...standby,
    },
  };
}

const NONE = { markFailed: false, forceFence: false };
const OLD_LOOK = { url: 'http://127.0.0.1:8081', role: null, node: null, fault: 'no answer within 2000 ms' };
const NEW_LOOK = { url: 'http://127.0.0.1:8082', role: null, node: null, fault: null };

function raised(
  from_node: string,
  to_node: string,
): { readonly epoch: number; readonly record: EpochRecord } {
  return { epoch: 2, record: { epoch: 2, failover: { from_node, to_node } } };
}

describe('the preflight of a failover', () => {
  test.each([
    ['nothing stands against it', surveyWith(), NONE],
    ['it is run again', surveyWith({ epoch: raised('primary', 'replica') }), NONE],
    ['the old node got the ledger by a failover', surveyWith({ epoch: raised('node-0', 'primary') }), NONE],
    [
      'somebody raised the epoch by hand',
      surveyWith({ epoch: { epoch: 2, record: { epoch: 2, failover: null } } }),
      NONE,
    ],
    ['the mark is given', surveyWith({ old: { isFailed: false } }), { ...NONE, markFailed: true }],
    [
      'a silent primary is cut off',
      surveyWith({ old: { look: { ...OLD_LOOK, health: 'silent' } } }),
      { ...NONE, forceFence: true },
    ],
    [
      'the store has taken the ledger from a node whose role file says primary',
      surveyWith({ primaries: ['node-0', 'primary'], epoch: raised('node-0', 'primary') }),
      NONE,
    ],
    [
      'the standby does not tell its name',
      surveyWith({ standby: { look: { ...NEW_LOOK, health: 'ready' } } }),
      NONE,
    ],
  ])('has no objection when %s', (_, seen, consent) => {
    expect(judge(seen, consent)).toBeNull();
  });

  test.each([
    ['not_a_state_folder', surveyWith({ upstream: null, standby: { role: null } })],
    ['old_primary_answers', surveyWith({ old: { look: { ...OLD_LOOK, health: 'ready' } } })],
    ['old_primary_answers', surveyWith({ old: { look: { ...OLD_LOOK, health: 'answers' } } })],
    [
      'old_primary_answers',
      surveyWith({
        behindProxy: { ...NEW_LOOK, url: 'http://127.0.0.1:9', health: 'ready', node: 'primary' },
      }),
    ],
    ['standby_not_ready', surveyWith({ standby: { look: { ...NEW_LOOK, health: 'refused' } } })],
    ['standby_not_ready', surveyWith({ standby: { look: { ...NEW_LOOK, health: 'answers' } } })],
    ['other_node', surveyWith({ standby: { look: { ...NEW_LOOK, health: 'ready', node: 'node-7' } } })],
    ['new_node_fenced', surveyWith({ standby: { fenced: 'replica fenced at epoch 2 since then' } })],
    ['not_the_primary', surveyWith({ epoch: raised('primary', 'node-7') })],
    ['not_the_primary', surveyWith({ epoch: raised('replica', 'node-7') })],
    ['another_primary', surveyWith({ primaries: ['node-7', 'primary'] })],
  ])('is refused as %s, whatever the caller takes on himself', (reason, seen) => {
    expect(judge(seen, NONE)).toMatchObject({ outcome: 'refused', reason });
    expect(judge(seen, { markFailed: true, forceFence: true })).toMatchObject({ outcome: 'refused', reason });
  });

  test('a silent primary and a missing mark need the word of the caller', () => {
    const silent = surveyWith({ old: { isFailed: false, look: { ...OLD_LOOK, health: 'silent' } } });

    expect(judge(silent, NONE)?.reason).toBe('old_primary_silent');
    expect(judge(silent, { ...NONE, markFailed: true })?.reason).toBe('old_primary_silent');
    expect(judge(silent, { ...NONE, forceFence: true })?.reason).toBe('not_marked_failed');
  });
});
