import { usageError } from '../errors.ts';
import { readTextFile } from './open-input.ts';

/**
 * The tasks whose owners are alive, as `--live` names them: ids parted by commas, or `@FILE` with ids parted by
 * commas or white space. An empty list is an answer, "nobody"; only an absent option means that it is not known.
 *
 * @throws CliError if the file can't be read: to guess who is alive could heal what is still running.
 */
export async function readLiveTaskIds(option: string): Promise<readonly string[]> {
  if (!option.startsWith('@')) return idsOf(option);
  if (option === '@')
    throw usageError('--live @FILE names no file', 'For example --live @live-tasks.txt.', {
      option: '--live',
    });
  return idsOf(await readTextFile(option.slice(1)));
}

function idsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((id) => id !== '');
}
