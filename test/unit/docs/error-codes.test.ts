import { expect, test } from 'vitest';
import { projectFiles, readProjectFile, sectionsOf, tableRows } from '../../support/documents.ts';

/** The literals of every error code: of unions named `...Code`, and of the fields named `code`. */
function codesIn(source: string): readonly string[] {
  const declarations = [...source.matchAll(/(?:type \w+Code =|readonly code[:=\s])([^;]*);/g)].map(
    ([, text = '']) => text,
  );
  return declarations.flatMap((text) => [...text.matchAll(/'([a-z_]+)'/g)].map(([, code = '']) => code));
}

test('docs/operations.md says for every error code what to do, and names no other', () => {
  const thrown = projectFiles('packages', 'errors.ts').flatMap((path) => codesIn(readProjectFile(path)));
  const section = sectionsOf(readProjectFile('docs/operations.md')).find(
    ({ title }) => title === 'Error codes',
  );
  const documented = tableRows(section?.text ?? '')
    .map(([cell = '']) => cell.replaceAll('`', ''))
    .filter((code) => code !== 'code');

  // `internal` stands for whatever nobody planned for.
  expect(new Set(documented)).toEqual(new Set([...thrown, 'internal']));
});
