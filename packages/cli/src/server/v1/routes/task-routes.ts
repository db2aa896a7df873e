import { z } from 'zod';
import { camelKeys } from '../camel-keys.ts';
import { replyTo } from '../reply-to.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';
import { done, ok, REFUSALS } from '../schemas/answers.ts';
import {
  Assign,
  Block,
  Comment,
  Decompose,
  Link,
  NewTask,
  OperatorComplete,
  ofTask,
  Promote,
  Reason,
  Specify,
} from '../schemas/requests.ts';
import { id, seq } from '../schemas/values.ts';

const command = { tag: 'tasks', use: 'command', method: 'post' } as const;

/** Commands of operators on managed tasks. */
export const TASK_ROUTES: readonly Route[] = [
  route({
    ...command,
    path: '/tasks',
    summary: 'Create a task.',
    body: NewTask,
    answers: { 201: ok(done('created'), 'Created.'), ...REFUSALS },
    handle: async ({ body, commands }) => replyTo(await commands.tasks.create(camelKeys(body)), 201),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/link',
    summary: 'Make a task wait for another one.',
    params: ofTask,
    body: Link,
    answers: { 200: ok(done('linked')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.link(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/assign',
    summary: 'Give a task to an assignee.',
    params: ofTask,
    body: Assign,
    answers: { 200: ok(done('assigned')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.assign(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/comment',
    summary: 'Keep a remark on a task.',
    params: ofTask,
    body: Comment,
    answers: { 200: ok(done('commented', { late: z.boolean() })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.comment(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/block',
    summary: 'Hold a task up; the run that holds it loses it.',
    params: ofTask,
    body: Block,
    answers: { 200: ok(done('blocked')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.block(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/unblock',
    summary: 'Let a blocked task go on.',
    params: ofTask,
    answers: { 200: ok(done('unblocked')), ...REFUSALS },
    handle: async ({ params, commands }) => replyTo(await commands.tasks.unblock(camelKeys(params))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/promote',
    summary: 'Make a waiting or blocked task ready.',
    params: ofTask,
    body: Promote,
    answers: { 200: ok(done('promoted')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.promote(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/specify',
    summary: 'Take a task out of triage with a better description.',
    params: ofTask,
    body: Specify,
    answers: { 200: ok(done('specified')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.specify(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/decompose',
    summary: 'Split a task in triage into children that it then waits for.',
    params: ofTask,
    body: Decompose,
    answers: { 200: ok(done('decomposed', { children: z.array(id) })), ...REFUSALS },
    handle: async ({ params, body: { children, ...rest }, commands }) =>
      replyTo(
        await commands.tasks.decompose({
          ...camelKeys({ ...params, ...rest }),
          children: children.map((child) => camelKeys(child)),
        }),
      ),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/complete',
    summary: 'Complete a task by an operator, whoever holds it.',
    params: ofTask,
    body: OperatorComplete,
    answers: { 200: ok(done('completed', { run_id: id.nullable(), seq })), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.complete(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/cancel',
    summary: 'End a task that is no longer wanted; the run that holds it loses it.',
    params: ofTask,
    body: Reason,
    answers: { 200: ok(done('cancelled')), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.tasks.cancel(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/tasks/{task_id}/archive',
    summary: 'File a task away; one that has not ended is given up by it.',
    params: ofTask,
    answers: { 200: ok(done('archived')), ...REFUSALS },
    handle: async ({ params, commands }) => replyTo(await commands.tasks.archive(camelKeys(params))),
  }),
];
