import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROJECT, projectFiles, readProjectFile, sectionsOf } from '../../support/documents.ts';

const CONTRACTS = projectFiles('docs/contracts', '.md');
const sources = [...projectFiles('packages', '.ts'), ...projectFiles('test', '.ts')];
const documents = [...projectFiles('docs', '.md'), 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'];

/** Every numbered section of every contract, such as `docs/contracts/custody.md, 4.3`. */
const SECTIONS: ReadonlySet<string> = new Set(
  CONTRACTS.flatMap((path) =>
    sectionsOf(readProjectFile(path)).flatMap(({ title }) => {
      const number = /^(\d+(?:\.\d+)?)/.exec(title)?.[1];
      return number === undefined ? [] : [`${path}, ${number}`];
    }),
  ),
);

/** Ids of rules and scenarios: those of the contracts, and the promises of docs/invariants.md. */
const ID = /\b(?:[SFIAOKCQVWXT]\d{1,2}|[SDU]-\d{2}|P\d{1,2}|ruling \d{1,2})\b/g;

/** Ids that a text defines, ranges such as `O10 to O13` included. */
function idsDefinedIn(text: string): readonly string[] {
  const ranges = [...text.matchAll(/\b([A-Z]-?)(\d+) to \1(\d+)\b/g)].flatMap(
    ([, prefix = '', from = '', to]) =>
      Array.from(
        { length: Number(to) - Number(from) + 1 },
        (_, index) => `${prefix}${String(Number(from) + index).padStart(from.length, '0')}`,
      ),
  );
  const rulings = [...text.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => `ruling ${number}`);
  return [...(text.match(ID) ?? []), ...ranges, ...rulings];
}

/** Where a text cites sections of contracts, such as `docs/contracts/custody.md, 8.2 and 8.3`. */
function citedSections(text: string): readonly string[] {
  return [...text.matchAll(/(docs\/contracts\/[a-z]+\.md), ((?:\d+(?:\.\d+)?(?:, | and | to )?)+)/g)].flatMap(
    ([, path = '', list = '']) => (list.match(/\d+(?:\.\d+)?/g) ?? []).map((number) => `${path}, ${number}`),
  );
}

describe('references', () => {
  test('every section of a contract that the code cites is there', () => {
    const lost = sources.flatMap((path) =>
      citedSections(readProjectFile(path))
        .filter((section) => !SECTIONS.has(section))
        .map((section) => `${path}: ${section}`),
    );

    expect(lost).toEqual([]);
  });

  test('every document that the code names is there', () => {
    const lost = sources.flatMap((path) =>
      [...readProjectFile(path).matchAll(/\bdocs\/[A-Za-z0-9/_-]+\.md\b/g)]
        .filter(([name]) => !existsSync(join(PROJECT, name)))
        .map(([name]) => `${path}: ${name}`),
    );

    expect(lost).toEqual([]);
  });

  test('every rule and scenario that a test title names is in a contract or among the invariants', () => {
    const defined = new Set(
      [...CONTRACTS, 'docs/invariants.md'].flatMap((path) => idsDefinedIn(readProjectFile(path))),
    );
    const unknown = projectFiles('test', '.ts').flatMap((path) =>
      titlesIn(readProjectFile(path)).flatMap((title) =>
        (title.match(ID) ?? []).filter((id) => !defined.has(id)).map((id) => `${path}: ${id}`),
      ),
    );

    expect(unknown).toEqual([]);
  });

  test('every link between documents leads somewhere', () => {
    const lost = documents.flatMap((path) =>
      [...readProjectFile(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(PROJECT, normalize(join(dirname(path), target)))))
        .map((target) => `${path}: ${target}`),
    );

    expect(lost).toEqual([]);
  });

  test('every file that a document names in its text is there', () => {
    const lost = documents.flatMap((path) =>
      [...readProjectFile(path).matchAll(/`((?:packages|test|docs)\/[A-Za-z0-9/._-]+\.(?:ts|md|json|mjs))`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !existsSync(join(PROJECT, name)))
        .map((name) => `${path}: ${name}`),
    );

    expect(lost).toEqual([]);
  });
});

/** The titles of the tests in a file. */
function titlesIn(source: string): readonly string[] {
  return [...source.matchAll(/\b(?:test|it)(?:\.\w+)*(?:\([^()]*\))?\(\s*(['"`])(.*?)\1/gs)].map(
    ([, , title = '']) => title,
  );
}
