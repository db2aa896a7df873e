import { defineConfig } from 'vitest/config';

// Tests run on packages/*/src through this export condition; only the e2e tests need a build.
// "import" is no part of it: it would also be what a library's own `require` is answered with.
const source = ['@custody/source', 'node'];

// Generous, because a busy machine must not fail a test. A test that hangs is still told from a slow one.
const TIMEOUT_MS = 60_000;
const E2E_TIMEOUT_MS = 180_000;

const project = (name: string, timeout = TIMEOUT_MS) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeout,
    hookTimeout: timeout,
  },
});

export default defineConfig({
  resolve: { conditions: source },
  ssr: { resolve: { conditions: source, externalConditions: source } },
  test: {
    // Half of what a test does here is to wait for a disk or a process.
    maxWorkers: 2,
    setupFiles: ['test/support/fail-on-console.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    projects: [
      project('unit'),
      project('contract'),
      project('scenarios'),
      project('simulation'),
      project('cases'),
      project('e2e', E2E_TIMEOUT_MS),
    ],
  },
});
