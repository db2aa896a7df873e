import type { ApiCall, Scene } from './api-calls.ts';

/** What only the ledger and its reconcilers write. */
const EVENT = { id: 'event-2', type: 'x.note' };

/** A request for every answer that the document names, in an order in which they can be made. */
export function callsOf({ run, question }: Scene): readonly ApiCall[] {
  const of = (taskId: string) => ({ params: { run_id: run(taskId).run_id } });
  const held = (taskId: string, more: object = {}) => ({
    ...of(taskId),
    body: { task_id: taskId, fence: run(taskId).fence, ...more },
  });
  const byRun = (taskId: string, more: object = {}) => ({
    ...of(taskId),
    body: { fence: run(taskId).fence, ...more },
  });
  const task = (task_id: string, body: object = {}) => ({ params: { task_id }, body });
  const onlyRun = (taskId: string, more: object = {}) => {
    const { run_id, fence } = run(taskId);
    return task(taskId, { run_id, fence, ...more });
  };
  const stale = { fence: 1 };
  const children = [{ task_id: 'child-1', title: 'a part' }];
  const answered = { option: 'A' };
  return [
    { route: 'POST /events', body: { events: [{ id: 'event-1', type: 'x.note' }] } },
    { route: 'POST /events', lines: '{"id":"event-1","type":"x.note"}\n' },
    { route: 'GET /events', query: { limit: '3' } },
    { route: 'GET /head' },
    { route: 'POST /ports/events', body: { events: [EVENT] } },
    { route: 'POST /ports/events', body: { events: [EVENT] } },
    { route: 'POST /ports/events/accepted', body: { events: [{ id: 'event-3', type: 'x.note' }] } },
    { route: 'POST /ports/events/accepted', body: { events: [{ id: 'event-3', type: 'x.note' }] } },
    { route: 'POST /tasks', body: { task_id: 'new-1', title: 'new' } },
    { route: 'POST /tasks', body: { task_id: 'new-1', title: 'new' } },
    { route: 'POST /tasks', body: { title: 'new', parents: ['unknown-1'] } },
    { route: 'POST /tasks/{task_id}/link', ...task('ready-1', { parent_id: 'ready-2' }) },
    { route: 'POST /tasks/{task_id}/link', ...task('ready-2', { parent_id: 'ready-1' }) },
    { route: 'POST /tasks/{task_id}/link', body: { parent_id: 'ready-1' } },
    { route: 'POST /tasks/{task_id}/assign', ...task('ready-2', { assignee: 'bob' }) },
    { route: 'POST /tasks/{task_id}/assign', ...task('held-report', { assignee: 'bob' }) },
    { route: 'POST /tasks/{task_id}/assign', body: { assignee: 'bob' } },
    { route: 'POST /tasks/{task_id}/comment', ...task('ready-2', { author: 'ann', body: 'hm' }) },
    {
      route: 'POST /tasks/{task_id}/comment',
      ...task('ready-2', { author: 'ann', body: 'hm', run_id: run('held-report').run_id }),
    },
    { route: 'POST /tasks/{task_id}/comment', body: { author: 'ann', body: 'hm' } },
    { route: 'POST /tasks/{task_id}/block', ...task('ready-3', { reason: 'no key', kind: 'transient' }) },
    { route: 'POST /tasks/{task_id}/block', ...task('ready-3') },
    { route: 'POST /tasks/{task_id}/block', body: {} },
    { route: 'POST /tasks/{task_id}/unblock', ...task('ready-3') },
    { route: 'POST /tasks/{task_id}/unblock', ...task('ready-3') },
    { route: 'POST /tasks/{task_id}/unblock' },
    { route: 'POST /tasks/{task_id}/promote', ...task('blocked-1', { actor: 'ann' }) },
    { route: 'POST /tasks/{task_id}/promote', ...task('blocked-1', { actor: 'ann' }) },
    { route: 'POST /tasks/{task_id}/promote', body: { actor: 'ann' } },
    { route: 'POST /tasks/{task_id}/specify', ...task('triage-1', { title: 'clearer' }) },
    { route: 'POST /tasks/{task_id}/specify', ...task('triage-1') },
    { route: 'POST /tasks/{task_id}/specify', body: {} },
    { route: 'POST /tasks/{task_id}/decompose', ...task('triage-2', { children }) },
    { route: 'POST /tasks/{task_id}/decompose', ...task('triage-2', { children }) },
    { route: 'POST /tasks/{task_id}/decompose', body: { children } },
    { route: 'POST /tasks/{task_id}/complete', ...task('ready-3', { operator: 'ann', result: { a: 1 } }) },
    { route: 'POST /tasks/{task_id}/complete', ...task('ready-3', { operator: 'ann' }) },
    { route: 'POST /tasks/{task_id}/complete', body: { operator: 'ann' } },
    { route: 'POST /tasks/{task_id}/cancel', ...task('ready-4', { reason: 'obsolete' }) },
    { route: 'POST /tasks/{task_id}/cancel', ...task('ready-4') },
    { route: 'POST /tasks/{task_id}/cancel', body: {} },
    { route: 'POST /tasks/{task_id}/archive', ...task('ready-4') },
    { route: 'POST /tasks/{task_id}/archive', ...task('ready-4') },
    { route: 'POST /tasks/{task_id}/archive' },
    { route: 'PUT /tasks', lines: '{"task_id":"row-1","status":"failed","n":12345678901234567890}\n' },
    { route: 'PUT /tasks', lines: '{"task_id":"row-1","status":"failed","n":1}\n' },
    { route: 'GET /tasks' },
    { route: 'GET /tasks/{task_id}', params: { task_id: 'row-1' } },
    { route: 'GET /tasks/{task_id}' },
    { route: 'GET /tasks/{task_id}/record', params: { task_id: 'ready-1' } },
    { route: 'GET /tasks/{task_id}/record' },
    { route: 'GET /tasks/{task_id}/runs', params: { task_id: 'held-report' } },
    { route: 'GET /tasks/{task_id}/runs' },
    { route: 'GET /tasks/{task_id}/explain', params: { task_id: 'ready-1' } },
    { route: 'GET /tasks/{task_id}/explain' },
    { route: 'GET /tasks/{task_id}/handoff', params: { task_id: 'done-1' } },
    { route: 'GET /tasks/{task_id}/handoff' },
    { route: 'GET /work', query: { holder: 'worker', wait: '10ms' } },
    { route: 'POST /claims', body: { holder: 'worker', task_id: 'ready-5' } },
    { route: 'POST /claims', body: { holder: 'worker', task_id: 'ready-1' } },
    { route: 'POST /claims', body: { holder: 'worker', task_id: 'unknown-1' } },
    { route: 'POST /runs/{run_id}/heartbeat', ...byRun('held-report') },
    { route: 'POST /runs/{run_id}/heartbeat', ...of('held-report'), body: stale },
    { route: 'POST /runs/{run_id}/heartbeat', body: stale },
    { route: 'POST /runs/{run_id}/push', ...byRun('held-report', { state: 'working' }) },
    { route: 'POST /runs/{run_id}/push', ...of('held-report'), body: { ...stale, state: 'working' } },
    { route: 'POST /runs/{run_id}/push', body: { ...stale, state: 'working' } },
    { route: 'POST /runs/{run_id}/refresh', ...of('held-report'), body: { holder: 'worker' } },
    { route: 'POST /runs/{run_id}/refresh', ...of('held-report'), body: { holder: 'another' } },
    { route: 'POST /runs/{run_id}/refresh', body: { holder: 'worker' } },
    ...['submit', 'complete', 'finalize', 'fail', 'block', 'exited', 'reclaim'].flatMap((verb): ApiCall[] => {
      const more: Readonly<Record<string, object>> = {
        submit: { idempotency_key: 'k', value: null },
        complete: { result: 'done' },
        finalize: { result: 'done' },
        fail: { reason: 'impossible' },
        block: { reason: 'no key' },
        exited: { exit: { kind: 'code', code: 1 } },
        reclaim: { reason: 'stuck' },
      };
      const route = `POST /runs/{run_id}/${verb}`;
      const taskId = verb === 'submit' ? 'held-report' : `held-${verb}`;
      const without = verb === 'finalize' || verb === 'reclaim' ? { fence: undefined } : {};
      const unknown = verb === 'reclaim' ? 'unknown-1' : 'ready-6';
      return [
        { route, ...held(taskId, { ...more[verb], ...without }) },
        {
          route,
          ...of(taskId),
          body: {
            task_id: taskId,
            ...stale,
            ...more[verb],
            ...without,
            ...(verb === 'finalize' ? { result: 'other' } : {}),
          },
        },
        { route, body: { task_id: unknown, ...stale, ...more[verb], ...without } },
      ];
    }),
    { route: 'POST /runs/{run_id}/ask', ...byRun('held-ask', { question: 'Which?', options: ['A'] }) },
    { route: 'POST /runs/{run_id}/ask', ...of('held-ask'), body: { ...stale, question: 'Which?' } },
    { route: 'POST /runs/{run_id}/ask', body: { ...stale, question: 'Which?' } },
    { route: 'POST /runs/{run_id}/park', ...byRun('held-park', { question: 'Which?' }) },
    { route: 'POST /runs/{run_id}/park', ...byRun('held-park', { question: 'Which?' }) },
    { route: 'POST /runs/{run_id}/park', body: { ...stale, question: 'Which?' } },
    { route: 'GET /questions', query: { open: 'true' } },
    {
      route: 'GET /runs/{run_id}/deliveries',
      ...of('asked-2'),
      query: { fence: String(run('asked-2').fence), wait: '10ms' },
    },
    { route: 'GET /runs/{run_id}/deliveries', ...of('asked-2'), query: { fence: '1' } },
    { route: 'GET /runs/{run_id}/deliveries' },
    {
      route: 'POST /questions/{question_id}/answer',
      params: { question_id: question('asked-1') },
      body: answered,
    },
    {
      route: 'POST /questions/{question_id}/answer',
      params: { question_id: question('asked-1') },
      body: answered,
    },
    { route: 'POST /questions/{question_id}/answer', body: answered },
    {
      route: 'POST /questions/{question_id}/ack',
      params: { question_id: question('asked-2') },
      body: onlyRun('asked-2').body,
    },
    {
      route: 'POST /questions/{question_id}/ack',
      params: { question_id: question('asked-2') },
      body: { run_id: run('asked-2').run_id, ...stale },
    },
    { route: 'POST /questions/{question_id}/ack', body: { run_id: 'unknown-1', ...stale } },
    { route: 'GET /audit', query: { all: 'true' } },
    { route: 'GET /stats' },
    { route: 'GET /store' },
    { route: 'GET /verify', query: { rebuild: 'true' } },
    { route: 'GET /ports/leases' },
    { route: 'POST /ports/leases/{task_id}/extend', ...onlyRun('expired-1', { reason: 'alive' }) },
    { route: 'POST /ports/leases/{task_id}/extend', ...onlyRun('expired-1', { reason: 'alive' }) },
    {
      route: 'POST /ports/leases/{task_id}/extend',
      body: { run_id: 'unknown-1', ...stale, reason: 'alive' },
    },
    { route: 'POST /ports/leases/{task_id}/release', ...onlyRun('expired-2') },
    { route: 'POST /ports/leases/{task_id}/release', ...onlyRun('expired-2') },
    { route: 'POST /ports/leases/{task_id}/release', body: { run_id: 'unknown-1', ...stale } },
    { route: 'POST /ports/leases/{task_id}/lost', ...onlyRun('lost-1') },
    { route: 'POST /ports/leases/{task_id}/lost', ...onlyRun('lost-1') },
    { route: 'POST /ports/leases/{task_id}/lost', body: { run_id: 'unknown-1', ...stale } },
    { route: 'POST /ports/leases/{task_id}/requeue', ...task('orphan-1') },
    { route: 'POST /ports/leases/{task_id}/requeue', ...task('ready-1') },
    { route: 'POST /ports/leases/{task_id}/requeue' },
    { route: 'POST /ports/rows/load', body: { task_ids: ['row-1', 'unknown-1'] } },
    { route: 'GET /ports/rows/stale' },
    { route: 'GET /ports/rows/count' },
    { route: 'GET /ports/rows' },
    { route: 'GET /ports/rows/{task_id}', params: { task_id: 'row-1' } },
    { route: 'GET /ports/rows/{task_id}' },
    {
      route: 'POST /ports/rows/update',
      body: {
        updates: [
          {
            task_id: 'unknown-1',
            expected_version: '1',
            custody_seq: 0,
            live: {},
            confirms: true,
            evidence: { type: 'x.note' },
          },
        ],
      },
    },
    { route: 'POST /ports/rows/confirm', body: { rows: [] } },
    { route: 'POST /ports/custody/tasks', body: { task_ids: ['done-1'] } },
    { route: 'GET /ports/custody/runs/{run_id}', params: { run_id: 'delegate-1' } },
    { route: 'GET /ports/custody/runs/{run_id}' },
    { route: 'GET /ports/custody/invocations/{invocation_id}', params: { invocation_id: 'invocation-1' } },
    { route: 'GET /ports/custody/invocations/{invocation_id}' },
    { route: 'GET /ports/custody/open' },
    { route: 'GET /ports/custody/totals' },
    { route: 'POST /ports/scan', body: { position: null } },
    { route: 'PUT /ports/state/{name}', params: { name: 'mine' }, body: { value: { a: 1 } } },
    { route: 'GET /ports/state/{name}', params: { name: 'mine' } },
    { route: 'POST /ports/leaders/{name}', params: { name: 'x' }, body: { holder: 'a', ttl_ms: 1000 } },
    { route: 'DELETE /ports/leaders/{name}', params: { name: 'x' }, query: { holder: 'a' } },
    { route: 'PUT /ports/records/{id}', params: { id: 'r-1' }, body: { text: 'héllo ✓' } },
    { route: 'GET /ports/records/{id}', params: { id: 'r-1' } },
    { route: 'POST /jobs/clear', body: { task_id: 'done-1' } },
    { route: 'POST /jobs/clear', body: { task_id: 'done-1', plan: '0'.repeat(64) } },
    { route: 'POST /jobs/backfill', body: {} },
    { route: 'POST /jobs/backfill', body: { plan: '0'.repeat(64) } },
    { route: 'POST /jobs/sweep', body: { live: ['done-1'] } },
    { route: 'POST /jobs/sweep', body: { plan: '0'.repeat(64) } },
  ];
}
