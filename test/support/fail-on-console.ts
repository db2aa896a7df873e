import { format } from 'node:util';
import { afterAll, afterEach } from 'vitest';

// The packages return or throw and never print, so what reaches the console during a test is a fault.

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
const printed: string[] = [];

const { console } = globalThis;
for (const method of METHODS) {
  console[method] = (...args: unknown[]) => {
    printed.push(`console.${method}: ${format(...args)}`);
  };
}

function failIfPrinted(): void {
  const lines = printed.splice(0);
  if (lines.length > 0) throw new Error(`the console was written to:\n${lines.join('\n')}`);
}

afterEach(failIfPrinted);
afterAll(failIfPrinted);
