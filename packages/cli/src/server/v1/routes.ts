import type { Route } from './route.ts';
import { EVENT_ROUTES } from './routes/event-routes.ts';
import { JOB_ROUTES } from './routes/job-routes.ts';
import { LOOK_ROUTES } from './routes/look-routes.ts';
import { PORT_ROUTES } from './routes/port-routes.ts';
import { QUESTION_ROUTES } from './routes/question-routes.ts';
import { ROW_ROUTES } from './routes/row-routes.ts';
import { RUN_ROUTES } from './routes/run-routes.ts';
import { TASK_ROUTES } from './routes/task-routes.ts';

/** Everything that answers under `/v1`, but its own description. */
export const ROUTES: readonly Route[] = [
  ...EVENT_ROUTES,
  ...TASK_ROUTES,
  ...ROW_ROUTES,
  ...RUN_ROUTES,
  ...QUESTION_ROUTES,
  ...LOOK_ROUTES,
  ...JOB_ROUTES,
  ...PORT_ROUTES,
];
