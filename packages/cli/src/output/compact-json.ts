import { jsonPieces } from '../json-pieces.ts';

/** The same JSON text on one line. Every value keeps its exact spelling, numbers that fit no double included. */
export function onOneLine(json: string): string {
  let line = '';
  for (const { isString, text } of jsonPieces(json)) line += isString ? text : text.replaceAll(/\s+/g, '');
  return line;
}
