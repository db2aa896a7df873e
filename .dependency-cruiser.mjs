// Who may import whom. `cli -> reconciler -> ledger`, never back; inside a package `core` knows only itself,
// `ports` know `core`, `shell` knows `ports`, and `adapters` know `ports` but neither `shell` nor each other.

const CORE = '^packages/(ledger|reconciler)/src/core/';
const ERRORS = '^packages/[^/]+/src/errors\\.ts$';
// The command has a door for its simulation alone: tests play it with checks of their own.
const DOORS = '^packages/([^/]+/src|cli/src/simulation)/index\\.ts$';
const LEDGER_DOOR = '^packages/ledger/src/index\\.ts$';
const PURE_LIBRARIES = 'node_modules/.*/(zod|date-fns|jsonc-parser|ms|croner)/';

const forbid = (name, from, to) => ({ name, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    forbid('no-cycles', {}, { circular: true }),
    forbid('no-unresolvable', {}, { couldNotResolve: true }),
    forbid(
      'core-is-pure',
      { path: CORE, pathNot: '/src/core/(event-hash|signature)\\.ts$' },
      { pathNot: ['/src/core/', ERRORS, LEDGER_DOOR, PURE_LIBRARIES] },
    ),
    // Hashing and signing are pure, but Node keeps them in the same module as its sources of randomness.
    forbid(
      'only-these-hash-and-sign',
      { path: '/src/core/(event-hash|signature)\\.ts$' },
      { pathNot: ['/src/core/', ERRORS, '^crypto$'] },
    ),
    forbid('errors-know-only-core', { path: ERRORS }, { pathNot: ['/src/core/', LEDGER_DOOR] }),
    // The errors that a port may throw are part of its contract.
    forbid(
      'ports-know-only-core',
      { path: '/src/ports/' },
      { pathNot: ['/src/(core|ports)/', ERRORS, LEDGER_DOOR] },
    ),
    forbid('shell-never-sees-adapters', { path: '/src/shell/' }, { path: '/src/adapters/' }),
    forbid(
      'shell-does-no-io',
      { path: '/src/shell/' },
      {
        path: '^(fs|net|http|https|http2|tls|dgram|dns|child_process|worker_threads|readline|os)(/|$)',
        dependencyTypes: ['core'],
      },
    ),
    forbid('adapters-never-see-shell', { path: '/src/adapters/' }, { path: '/src/shell/' }),
    forbid(
      'adapters-are-strangers',
      { path: '/src/adapters/([^/]+)/', pathNot: '/src/adapters/jsonl/' },
      { path: '/src/adapters/', pathNot: '/src/adapters/($1|sql)/' },
    ),
    // The index of a JSON Lines store is an SQLite file.
    forbid(
      'jsonl-also-sees-sqlite',
      { path: '/src/adapters/jsonl/' },
      { path: '/src/adapters/', pathNot: '/src/adapters/(jsonl|sql|sqlite)/' },
    ),
    forbid('ledger-is-lowest', { path: '^packages/ledger/' }, { path: '^packages/(reconciler|cli)/' }),
    forbid('reconciler-below-cli', { path: '^packages/reconciler/' }, { path: '^packages/cli/' }),
    forbid('tests-stay-home', { path: '^packages/' }, { path: '^test/' }),
    forbid(
      'front-doors-only',
      { path: '^(packages/([^/]+)|test/(contract|scenarios|simulation|cases|e2e|bench))/' },
      { path: '^packages/[^/]+/src/', pathNot: ['^packages/$2/', DOORS] },
    ),
    forbid(
      'drivers-stay-home',
      { path: '^packages/', pathNot: '/src/adapters/(sqlite|postgres)/' },
      { path: 'node_modules/.*/(better-sqlite3|pg)/' },
    ),
    forbid(
      'sql-stays-in-adapters',
      { path: '^packages/', pathNot: '/src/adapters/' },
      { path: 'node_modules/.*/kysely/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Our own output only: a library that keeps its code in dist/ must stay in sight. And the peers of the bench, which
    // only a bench installs.
    exclude: { path: '^((packages/[^/]+|test|test/bench)/(dist|bundle)|test/bench/peers)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@custody/source', 'import', 'node', 'default', 'types'],
    },
  },
};
