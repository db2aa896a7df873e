import type { RunGatewayFactory } from '@custody/reconciler';
import { usageError } from './errors.ts';

const HINT = 'Use none, process, or http:URLTEMPLATE such as http:http://localhost:8080/runs/{run_id}.';

/**
 * The way to the runs that `--gateway` names; undefined for none.
 *
 * @throws CliError `usage` for anything but the known ways.
 */
export async function toGatewayFactory(option: string | undefined): Promise<RunGatewayFactory | undefined> {
  if (option === undefined || option === 'none') return undefined;
  const { httpGateway, processGateway } = await import('@custody/reconciler');
  if (option === 'process') return () => processGateway();
  const runUrl = templateOf(option);
  return () => httpGateway({ runUrl });
}

/** `http:` before a template, or the template itself: both say the same. */
function templateOf(option: string): string {
  const template = /^http:(?=https?:\/\/)/.test(option) ? option.slice('http:'.length) : option;
  if (!/^https?:\/\//.test(template) || !URL.canParse(template.replaceAll(/\{\w+\}/g, 'x'))) {
    throw usageError(`${JSON.stringify(option)} is no gateway`, HINT, { option: '--gateway', value: option });
  }
  if (template.includes('{run_id}')) return template;
  throw usageError(`the template ${template} has no {run_id}`, HINT, { option: '--gateway', value: option });
}
