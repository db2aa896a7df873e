import type { RunRecord } from '@custody/ledger';
import type { TerminalDetail } from '../core/terminal-detail.ts';

/** One settled run as an accounting system books it. */
export interface CostEntry {
  /** The run id. An entry with a known key must change nothing: a crash may send it twice. */
  readonly key: string;
  readonly run: RunRecord;
  readonly detail: TerminalDetail;
}

/** An accounting system beside the log. Without one, the cost stands in `run.settled` only. */
export interface CostLedger {
  /** Books an entry durably. @throws if it was not booked; the run then stays unsettled. */
  record(entry: CostEntry): Promise<void>;
}
