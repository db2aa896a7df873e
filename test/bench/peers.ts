import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What each peer is to the bench: the part of its door that a comparison uses. */
interface Peers {
  emmett(): Promise<EmmettSqlite>;
  plainjob(): Promise<Plainjob>;
  pgBoss(): Promise<PgBossDoor>;
  graphileWorker(): Promise<GraphileWorker>;
}

interface EmmettSqlite {
  getSQLiteEventStore(options: { readonly fileName: string }): {
    appendToStream(stream: string, events: readonly { type: string; data: object }[]): Promise<unknown>;
  };
}

interface Plainjob {
  better(database: object): { pragma(text: string): void };
  defineQueue(options: { readonly connection: object; readonly logger: object }): {
    add(type: string, data: unknown): unknown;
    getAndMarkJobAsProcessing(type: string): { readonly id: number } | undefined;
    getJobById(id: number): unknown;
    markJobAsDone(id: number): void;
    close(): void;
  };
}

interface PgBossDoor {
  readonly PgBoss: new (
    options: object,
  ) => {
    on(event: 'error', listener: (error: Error) => void): unknown;
    start(): Promise<unknown>;
    createQueue(name: string): Promise<unknown>;
    insert(name: string, jobs: readonly object[]): Promise<unknown>;
    fetch(name: string): Promise<readonly { readonly id: string }[] | null>;
    complete(name: string, id: string): Promise<unknown>;
    stop(options: object): Promise<unknown>;
  };
}

interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => object;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJobs(jobs: readonly object[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  runOnce(options: object): Promise<void>;
}

const FOLDER = fileURLToPath(new URL('../../peers/', import.meta.url));

/** The peers, which are installed when a comparison first asks for one, by a lock of their own. */
export async function loadPeers(): Promise<Peers> {
  install();
  return (await import(new URL('../../peers/peers.js', import.meta.url).href)) as Peers;
}

function install(): void {
  const lock = readFileSync(`${FOLDER}pnpm-lock.yaml`, 'utf8');
  const mark = `${FOLDER}node_modules/.bench-lock`;
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  process.stderr.write('bench: installing what custody is measured against, once\n');
  const { npm_execpath: pnpm } = process.env;
  const command = pnpm === undefined ? ['npx', '-y', 'pnpm@10.34.9'] : [process.execPath, pnpm];
  const [program = '', ...args] = [...command, 'install', '--frozen-lockfile'];
  const { status } = spawnSync(program, args, { cwd: FOLDER, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('the peers could not be installed');
  writeFileSync(mark, lock);
}
