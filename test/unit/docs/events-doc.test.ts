import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENT_SCHEMAS, EVENT_TYPES, openLedger, parseNewEvent, toPrintedLine } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { collect } from '../../support/collect.ts';
import { codeBlocks, readProjectFile, sectionsOf, tableRows } from '../../support/documents.ts';
import { settled, started } from '../../support/events.ts';

const markdown = readProjectFile('docs/events.md');
const sections = new Map(sectionsOf(markdown).map(({ title, text }) => [title, text]));

/** Fields as the document and the schemas both tell them: the name beside its type, and whether it must be there. */
type Fields = Readonly<Record<string, string>>;

/** Of the envelope; named in a type's table only where the type demands more of them. */
const ENVELOPE: Fields = { id: 'id', at: 'time', task_id: 'id', run_id: 'id' };

function documentedFields(title: string): Fields {
  const text = sections.get(title) ?? '';
  const groups = /Shared: (.*?)\./.exec(text)?.[1]?.split(', ') ?? [];
  const own = Object.fromEntries(
    tableRows(text).map(([name = '', type = '', required = '']) => [
      name.replaceAll('`', ''),
      `${type.replaceAll('`', '')}${required === 'yes' ? ', required' : ''}`,
    ]),
  );
  return Object.assign({}, ...groups.map(documentedFields), own) as Fields;
}

/** What a schema says of each field, in the document's words. */
function schemaFields(schema: z.ZodType): Fields {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      `${wordFor(field)}${required.includes(name) ? ', required' : ''}`,
    ]),
  );
}

type JsonSchema = z.core.JSONSchema._JSONSchema;

function wordFor(field: JsonSchema): string {
  if (typeof field === 'boolean') return 'anything';
  if (field.enum !== undefined) return `one of ${field.enum.join(', ')}`;
  if (field.anyOf !== undefined) return wordForUnion(field.anyOf);
  if (Array.isArray(field.type))
    return field.type.map((name) => (name === 'string' ? 'text' : name)).join(' or ');
  if (field.format === 'date-time') return 'time';
  if (field.pattern !== undefined) return 'id';
  if (field.type === 'string') return 'text';
  if (field.type === 'array') return `list of ${wordFor(field.items as JsonSchema)}`;
  return field.type ?? 'anything';
}

function wordForUnion(members: readonly JsonSchema[]): string {
  const words = members.map((member) =>
    typeof member === 'object' && member.const === '' ? 'empty' : wordFor(member),
  );
  return words.sort((a, b) => Number(isNothing(a)) - Number(isNothing(b))).join(' or ');
}

function isNothing(word: string): boolean {
  return word === 'empty' || word === 'null';
}

function withoutEnvelope(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, word]) => ENVELOPE[name] !== word));
}

/** A type that only the ledger may append says so when anybody else tries. */
function mayAnyoneAppend(type: string): boolean {
  try {
    parseNewEvent({ type }, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && error.message.includes('written by the ledger only'));
  }
}

describe('docs/events.md', () => {
  test('has a section for every type, and for no other', () => {
    const documented = [...sections.keys()].filter((title) => /^[a-z]+\.[a-z_]+$/.test(title));

    expect(new Set(documented)).toEqual(new Set(Object.keys(EVENT_SCHEMAS)));
  });

  test.each(Object.entries(EVENT_SCHEMAS))(
    'tells every field of %s, its type, and whether it must be there',
    (type, schema) => {
      expect(withoutEnvelope(documentedFields(type))).toEqual(withoutEnvelope(schemaFields(schema)));
    },
  );

  test.each(Object.entries(EVENT_TYPES))(
    'tells the name of %s in the other dialect, and who may append it',
    (type, name) => {
      const text = sections.get(type) ?? '';

      expect(text).toContain(`Name in the \`ouroboros\` dialect: \`${name}\`.`);
      expect(text).toContain(`Appended by: ${mayAnyoneAppend(type) ? 'anyone' : 'the ledger only'}.`);
    },
  );

  test('gives every field a meaning', () => {
    const silent = [...sections].flatMap(([title, text]) =>
      tableRows(text).flatMap((cells) => ((cells.at(-1) ?? '') === '' ? [`${title} ${cells[0]}`] : [])),
    );

    expect(silent).toEqual([]);
  });
});

describe('the check of the chain in docs/events.md', () => {
  let directory = '';

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'custody-docs-'));
    await using ledger = await openLedger('memory:');
    await ledger.append([
      started('run-1', 'task-1', { note: 'a "quote", a brace } and an é' }),
      settled('run-1'),
    ]);
    const lines = (await collect(ledger.read())).map(({ text, event }) => toPrintedLine(text, event.hash));
    writeFileSync(join(directory, 'ledger.jsonl'), `${lines.join('\n')}\n`);
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function check(): { readonly status: number; readonly output: string } {
    const [script = ''] = codeBlocks(sections.get('The chain') ?? '', 'sh');
    try {
      return { status: 0, output: execFileSync('sh', ['-c', script], { cwd: directory, encoding: 'utf8' }) };
    } catch (error) {
      const { status, stdout } = error as { readonly status: number; readonly stdout: string };
      return { status, output: stdout };
    }
  }

  test('passes an export', () => {
    expect(check()).toEqual({ status: 0, output: expect.stringMatching(/^2 events, head [0-9a-f]{64}\n$/) });
  });

  test('names the line that was edited', () => {
    const path = join(directory, 'ledger.jsonl');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"run-1"', '"run-2"'));

    expect(check()).toEqual({ status: 1, output: 'line 1 does not continue the chain\n' });
  });
});
