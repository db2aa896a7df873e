import type { HttpChannel } from '../adapters/http/http-channel.ts';
import type { ManagedTask } from '../core/managed/managed-task.ts';
import { idArgument } from '../shell/arguments.ts';
import type { ManagedTasks } from '../shell/managed-tasks.ts';
import type { Send } from './remote-commands.ts';
import { taskPath } from './remote-commands.ts';
import { snakeKeys } from './snake-keys.ts';

/** Commands of operators, over HTTP. */
export function remoteTasks(channel: HttpChannel, send: Send): ManagedTasks {
  return {
    create: async ({ taskId, title, body, assignee, priority, parents, createdBy, maxRetries, initial }) =>
      send('/tasks', { taskId, title, body, assignee, priority, parents, createdBy, maxRetries, initial }),
    get: async (taskId) => {
      const { status, body } = await channel.ask({
        path: `/tasks/${idArgument('task_id', taskId)}/record`,
      });
      return status === 404 ? null : (body as ManagedTask);
    },
    link: async ({ taskId, parentId }) => send(taskPath(taskId, 'link'), { parentId }),
    assign: async ({ taskId, assignee }) => send(taskPath(taskId, 'assign'), { assignee }),
    comment: async ({ taskId, author, body, runId }) =>
      send(taskPath(taskId, 'comment'), { author, body, runId }),
    block: async ({ taskId, reason, kind }) => send(taskPath(taskId, 'block'), { reason, kind }),
    unblock: async ({ taskId }) => send(taskPath(taskId, 'unblock')),
    specify: async ({ taskId, title, body, assignee, author }) =>
      send(taskPath(taskId, 'specify'), { title, body, assignee, author }),
    decompose: async ({ taskId, children, rootAssignee, author, autoPromote }) =>
      send(taskPath(taskId, 'decompose'), {
        rootAssignee,
        author,
        autoPromote,
        children: children.map((child) =>
          snakeKeys({
            taskId: child.taskId,
            title: child.title,
            assignee: child.assignee,
            parents: child.parents,
          }),
        ),
      }),
    promote: async ({ taskId, actor, reason }) => send(taskPath(taskId, 'promote'), { actor, reason }),
    complete: async ({ taskId, operator, result, summary, metadata, force }) =>
      send(taskPath(taskId, 'complete'), { operator, result, summary, metadata, force }),
    cancel: async ({ taskId, reason }) => send(taskPath(taskId, 'cancel'), { reason }),
    archive: async ({ taskId }) => send(taskPath(taskId, 'archive')),
  };
}
