// What the bench compares with, loaded when a comparison asks for it.

/** An event store on SQLite. */
export const emmett = () => import('@event-driven-io/emmett-sqlite');

/** A job queue on SQLite. */
export const plainjob = () => import('plainjob');

/** A job queue on PostgreSQL. */
export const pgBoss = () => import('pg-boss');

/** A job queue on PostgreSQL. */
export const graphileWorker = () => import('graphile-worker');
