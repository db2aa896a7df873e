import { shellWord } from './shell-word.ts';

/**
 * How a person calls the command for a store. A password is left out: what is printed may be read by others, and it
 * can come from elsewhere.
 */
export function programFor(storeUrl: string): string {
  if (!URL.canParse(storeUrl)) return `custody -s ${shellWord(storeUrl)}`;
  const url = new URL(storeUrl);
  if (url.password === '') return `custody -s ${shellWord(storeUrl)}`;
  url.password = '';
  return `custody -s ${shellWord(url.href)}`;
}
