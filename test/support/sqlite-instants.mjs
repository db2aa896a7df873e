import Database from 'better-sqlite3';

/** Calls back before and after each statement of this process on SQLite, with its first word. */
export function atEachStatement(instant) {
  const memory = new Database(':memory:');
  const statements = Object.getPrototypeOf(memory.prepare('select 1'));
  memory.close();
  for (const name of ['run', 'get', 'all', 'iterate']) {
    const original = statements[name];
    statements[name] = function counted(...args) {
      const word = wordOf(this.source);
      instant(`${word}: before`);
      const result = original.apply(this, args);
      instant(`${word}: after`);
      return result;
    };
  }
}

/** What a statement does. */
export function wordOf(text) {
  return /^\s*(\w+)/.exec(text)?.[1].toLowerCase() ?? '';
}
