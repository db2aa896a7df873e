import type { JsonObject } from '@custody/ledger';
import { isJsonObject } from '@custody/ledger';

/**
 * A process, named so that no other one can be taken for it: the field `process` of a `run.started`. A pid alone
 * names nothing: the kernel gives it to somebody else.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in clock ticks since the boot: field 22 of `/proc/<pid>/stat`. */
  readonly started_at_ticks: number;
  /** Which boot: `/proc/sys/kernel/random/boot_id`. */
  readonly boot_id: string;
  /** Which machine: `/etc/machine-id`. Tells a reboot of this machine from a process of another one. */
  readonly machine_id?: string;
  /** Which pid namespace, such as `pid:[4026531836]`: a container's pids mean nothing outside of it. */
  readonly pid_namespace?: string;
}

/** Reads an identity from the facts of a start; null if they hold none, or only half of one. */
export function toProcessIdentity(value: unknown): ProcessIdentity | null {
  if (!isJsonObject(value)) return null;
  const { pid, started_at_ticks: ticks, boot_id: bootId } = value;
  if (!isCount(pid) || pid < 1 || !isCount(ticks) || typeof bootId !== 'string' || bootId === '') return null;
  return {
    pid,
    started_at_ticks: ticks,
    boot_id: bootId,
    ...textField(value, 'machine_id'),
    ...textField(value, 'pid_namespace'),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function textField(value: JsonObject, name: 'machine_id' | 'pid_namespace'): JsonObject {
  const text = value[name];
  return typeof text === 'string' && text !== '' ? { [name]: text } : {};
}

/** What `/proc/<pid>/stat` says that matters here. */
export interface ProcessStat {
  /** `R`, `S`, `D`, `Z`, ... */
  readonly state: string;
  readonly group: number;
  readonly started_at_ticks: number;
}

/** Parses a `stat` line; the command in it may hold blanks and brackets. Null if it is none. */
export function parseProcessStat(line: string): ProcessStat | null {
  const fields = line
    .slice(line.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/);
  const [state, , group] = fields;
  const ticks = Number(fields[19]);
  if (
    !line.includes(')') ||
    state === undefined ||
    !Number.isInteger(Number(group)) ||
    !Number.isInteger(ticks)
  )
    return null;
  return { state, group: Number(group), started_at_ticks: ticks };
}

/** A zombie has ended: it waits for its parent to read how. */
export function isEnded(stat: ProcessStat): boolean {
  return stat.state === 'Z' || stat.state === 'X' || stat.state === 'x';
}
