/** The promises of the ledger and its reconciler. */
export const PROMISES = [
  'P1',
  'P2',
  'P3',
  'P4',
  'P5',
  'P6',
  'P7',
  'P8',
  'P9',
  'P10',
  'P11',
  'P12',
  'P13',
  'P14',
  'P15',
  'P16',
] as const;

/** One of {@link PROMISES}. */
export type PromiseName = (typeof PROMISES)[number];

/** Something happened that was promised never to happen; the run ends here. */
export class PromiseBroken extends Error {
  override readonly name = 'PromiseBroken';
  readonly promise: PromiseName;

  constructor(promise: PromiseName, message: string) {
    super(message);
    this.promise = promise;
  }
}
