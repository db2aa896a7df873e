// Lets a process believe that it is two hours later than it is: node --import clock-ahead.mjs
const AHEAD_MS = 2 * 60 * 60 * 1000;
const now = Date.now;

globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(now() + AHEAD_MS);
    else super(...args);
  }

  static now() {
    return now() + AHEAD_MS;
  }
};
