import type { JsonObject, ProcessIdentity } from '@custody/ledger';
import { isJsonObject } from '@custody/ledger';

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
