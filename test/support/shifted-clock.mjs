// Loaded before anything else (`--import`), so that a process has the clock of a host that is wrong.
const shift = Number(process.env['CUSTODY_TEST_CLOCK_SHIFT_MS'] ?? 0);
const Right = Date;
globalThis.Date = class extends Right {
  constructor(...given) {
    if (given.length === 0) super(Right.now() + shift);
    else super(...given);
  }
  static now() {
    return Right.now() + shift;
  }
};
