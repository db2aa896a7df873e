import type { JsonObject } from '../json.ts';
import type { ManagedSettings } from './scope.ts';
import { DEFAULT_SETTINGS } from './scope.ts';

/** The name under which a store keeps the settings. */
export const SETTINGS_DOCUMENT = 'settings';

/** Reads stored settings; what is missing or no positive whole number falls back to its default. */
export function parseSettings(stored: JsonObject | null): ManagedSettings {
  const numberOf = (name: keyof ManagedSettings, least: number): number => {
    const value = stored?.[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= least
      ? value
      : DEFAULT_SETTINGS[name];
  };
  return {
    lease_ttl_ms: numberOf('lease_ttl_ms', 1),
    crash_grace_ms: numberOf('crash_grace_ms', 0),
    park_settle_ms: numberOf('park_settle_ms', 0),
    failure_limit: numberOf('failure_limit', 1),
  };
}
