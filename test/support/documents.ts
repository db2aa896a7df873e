import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the whole project. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** A file of the project, as text. */
export function readProjectFile(path: string): string {
  return readFileSync(join(PROJECT, path), 'utf8');
}

/** Paths of the files under a folder of the project, sorted; what a build or an installation makes is left out. */
export function projectFiles(folder: string, ending: string): readonly string[] {
  return readdirSync(join(PROJECT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return GENERATED.has(entry.name) ? [] : projectFiles(path, ending);
      return entry.name.endsWith(ending) ? [path] : [];
    })
    .sort();
}

const GENERATED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'fixtures']);

/** A part of a document, from its heading to the next one of any level. */
export interface DocumentSection {
  readonly title: string;
  readonly text: string;
}

/** The parts of a document that begin with a heading, in order. Lines of code blocks are no headings. */
export function sectionsOf(markdown: string): readonly DocumentSection[] {
  const sections: { title: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const title = isCode ? undefined : /^#+ (.+)$/.exec(line)?.[1];
    if (title === undefined) sections.at(-1)?.lines.push(line);
    else sections.push({ title, lines: [] });
  }
  return sections.map(({ title, lines }) => ({ title, text: lines.join('\n') }));
}

/** The cells of the rows of all tables in a text, without their heads. */
export function tableRows(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:-|field )/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** The text of the code blocks of one language, in order. */
export function codeBlocks(markdown: string, language: string): readonly string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code]) => code ?? '',
  );
}
