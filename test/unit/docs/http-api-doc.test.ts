import { expect, test } from 'vitest';
import { ROUTES } from '../../../packages/cli/src/server/v1/routes.ts';
import { readProjectFile, sectionsOf, tableRows } from '../../support/documents.ts';

test('docs/http-api.md says of every request that is no GET why it may be made again, and names no other', () => {
  const section = sectionsOf(readProjectFile('docs/http-api.md')).find(
    ({ title }) => title === 'Why a request may be made again',
  );
  const documented = tableRows(section?.text ?? '')
    .slice(1)
    .flatMap(([cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, request = '']) => request));
  const routes = ROUTES.filter(({ method }) => method !== 'get').map(
    ({ method, path }) => `${method.toUpperCase()} ${path}`,
  );

  expect(new Set(documented)).toEqual(new Set(routes));
  expect(documented).toHaveLength(routes.length);
});
