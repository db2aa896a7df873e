import type { JsonObject, Ledger, ManagedSettings } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { SettingOptions } from '../input/managed-options.ts';
import { checkManaged } from '../open-managed.ts';
import { withLedger } from '../open-store.ts';
import { printReport } from '../output/report.ts';
import { spanText } from '../output/time-text.ts';

/** Options of `init`. */
export interface InitOptions {
  /** Times of managed tasks to be kept in the store, in milliseconds. */
  readonly set?: SettingOptions | undefined;
}

/** Makes the store, or brings one that is there to the newest schema. Running it twice is fine. */
export async function init(context: CommandContext, { set }: InitOptions): Promise<ExitCode> {
  if (set !== undefined) await checkManaged(context, {});
  return withLedger(context, 'create', async (ledger) => {
    const { created, schemaVersion } = ledger;
    const settings = ledger.managesTasks ? await settingsOf(ledger, set) : null;
    const report = {
      store: context.storeUrl,
      created,
      schema_version: schemaVersion,
      ...(settings === null ? {} : { settings }),
    };
    await printReport(context, report, () =>
      [
        `${context.storeUrl} ${created ? 'is made' : 'was there already'} (schema ${schemaVersion})`,
        ...(settings === null || set === undefined ? [] : settingLines(settings)),
      ].join('\n'),
    );
    return EXIT.done;
  });
}

/** The times and limits that every process goes by from now on. */
async function settingsOf(ledger: Ledger, set: SettingOptions | undefined): Promise<ManagedSettings> {
  const { parseSettings, SETTINGS_DOCUMENT } = await import('@custody/ledger');
  const stored = await ledger.state.load(SETTINGS_DOCUMENT);
  if (set === undefined) return parseSettings(stored);
  const settings: JsonObject = { ...stored, ...set };
  await ledger.state.save(SETTINGS_DOCUMENT, settings);
  return parseSettings(settings);
}

function settingLines(settings: ManagedSettings): readonly string[] {
  const text = (ms: number) => (ms < 1000 ? `${ms}ms` : spanText(ms));
  return [
    `crash grace ${text(settings.crash_grace_ms)}`,
    `park settle ${text(settings.park_settle_ms)}`,
    `lease ttl ${text(settings.lease_ttl_ms)}`,
  ];
}
