import { defineConfig } from 'rolldown';

// The command as a handful of files: without it, each start would look up, read and link a thousand modules of
// libraries. Commands stay apart, since they are loaded when they run.
export default defineConfig({
  input: 'dist/main.js',
  platform: 'node',
  // Native, or loading files of its own that must stay beside it.
  external: ['better-sqlite3', 'pg', 'pino'],
  // jsonc-parser says its ESM under `module` only; its `main` can't be bundled.
  resolve: { mainFields: ['module', 'main'] },
  // Commands stand as deep as in dist, so that what they find beside them is found from here, too.
  output: { dir: 'bundle', cleanDir: true, chunkFileNames: 'parts/[name]-[hash].js' },
});
