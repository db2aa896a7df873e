import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** One file of the sample; bytes that are no text come as base64. */
type SampleFile =
  | { readonly path: string; readonly text: string }
  | { readonly path: string; readonly base64: string };

/** The sample beside this package: a data root as an orchestrator leaves one, in one file. */
const SAMPLE = new URL('../../sample/data-root.jsonl.gz', import.meta.url);

/** Writes the sample's files under a directory. */
export function unpackSample(directory: string): void {
  for (const line of gunzipSync(readFileSync(SAMPLE)).toString('utf8').trimEnd().split('\n')) {
    const file = JSON.parse(line) as SampleFile;
    const path = join(directory, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'text' in file ? file.text : Buffer.from(file.base64, 'base64'));
  }
}
