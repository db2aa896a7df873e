import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { ServeOptions } from '../commands/serve.ts';
import { duration } from '../input/parse-options.ts';
import { atLeastOne, listenAddress, nodeName, sizeLimit } from '../input/serving-options.ts';
import { withExample } from './with-example.ts';

const DEFAULT_MAX_BODY = 1024 * 1024;
const DEFAULT_REQUEST_MS = 30_000;

/** Commands that keep a ledger reachable. */
export function defineServingCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Serving:');
  withExample(
    program
      .command('serve')
      .description('serve the ledger over HTTP as one node, until SIGTERM')
      .requiredOption('--listen <host:port>', 'where to listen; port 0 takes any that is free', listenAddress)
      .requiredOption(
        '--node <name>',
        "this node's name: NAME.role and NAME.fenced are its files",
        nodeName('--node'),
      )
      .requiredOption('--state <dir>', 'the state folder that all nodes share')
      .option(
        '--max-body <bytes>',
        `the largest body that is taken (else ${DEFAULT_MAX_BODY})`,
        sizeLimit('--max-body'),
        DEFAULT_MAX_BODY,
      )
      .option(
        '--request-timeout <span>',
        'how long a client may take for one request (else 30s)',
        duration('--request-timeout'),
        DEFAULT_REQUEST_MS,
      )
      .option('--token-file <path>', 'tokens that are taken, one a line with read or write; mode 600')
      .option(
        '--max-rate <count>',
        'requests a second from one address (else 1000, on a loopback address any number)',
        atLeastOne('--max-rate'),
      )
      .option(
        '--reconcile <span>',
        'heal rows while this node is primary, a sweep each 30s, ...',
        duration('--reconcile'),
      )
      .action((options: ServeOptions) =>
        run(async () => (await import('../commands/serve.ts')).serve, options),
      ),
    'custody serve --listen 127.0.0.1:8081 --node primary --state /var/lib/custody',
    'custody serve --listen 0.0.0.0:8081 --node primary --state /var/lib/custody --token-file /etc/custody/tokens',
  );
}
