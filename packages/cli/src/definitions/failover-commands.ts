import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { FailoverOptions, FailoverPromoteOptions } from '../commands/failover.ts';
import type { ProxyCommandOptions } from '../commands/proxy.ts';
import { listenAddress, nodeName, nodeUrl } from '../input/serving-options.ts';
import { withExample } from './with-example.ts';

/** Commands that move a served ledger from one node to another. */
export function defineFailoverCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Serving:');
  defineProxy(program, run);
  const failover = program
    .command('failover')
    .description('move a served ledger from a failed node to its standby');
  withExample(
    withNodes(
      failover
        .command('status')
        .description('say where things stand, and which steps are done; changes nothing'),
    ).action((options: FailoverOptions) =>
      run(async () => (await import('../commands/failover.ts')).failoverStatusCommand, options),
    ),
    'custody failover status --state /var/lib/custody --old http://127.0.0.1:8081 --new http://127.0.0.1:8082',
  );
  withExample(
    withNodes(
      failover
        .command('promote')
        .description(
          'fence the old primary, promote the standby, switch the proxy; may be run again at any time',
        ),
    )
      .option('--mark-failed', 'mark the old primary as failed; else somebody must have made NAME.failed')
      .option('--force-fence', 'go on although the old primary neither answers nor refuses connections')
      .option(
        '--token-file <path>',
        'the tokens of the nodes, where they want one for the write of the last step',
      )
      .option('--dry-run', 'say what would be done, change nothing')
      .action((options: FailoverPromoteOptions) =>
        run(async () => (await import('../commands/failover.ts')).failoverPromote, options),
      ),
    'custody failover promote --state /var/lib/custody --old http://127.0.0.1:8081 --new http://127.0.0.1:8082 --public http://127.0.0.1:8080 --mark-failed',
  );
}

function defineProxy(program: Command, run: CommandRunner): void {
  withExample(
    program
      .command('proxy')
      .description('pass requests to the node that the state folder names, until SIGTERM')
      .requiredOption('--listen <host:port>', 'where to listen; port 0 takes any that is free', listenAddress)
      .requiredOption('--state <dir>', 'the state folder; its file "upstream" is read on every request')
      .option('--allow-remote', 'listen on an address that other hosts reach; tokens pass in the clear')
      .action((options: ProxyCommandOptions) =>
        run(async () => (await import('../commands/proxy.ts')).proxy, options),
      ),
    'custody proxy --listen 127.0.0.1:8080 --state /var/lib/custody',
  );
}

function withNodes(command: Command): Command {
  return command
    .requiredOption('--state <dir>', 'the state folder that all nodes and the proxy share')
    .requiredOption('--old <url>', 'the node that failed', nodeUrl('--old'))
    .requiredOption('--new <url>', 'its standby', nodeUrl('--new'))
    .option('--public <url>', 'the proxy, for the last step', nodeUrl('--public'))
    .option(
      '--old-node <name>',
      'name of the old node (else the one that holds the ledger, at first "primary")',
      nodeName('--old-node'),
    )
    .option(
      '--new-node <name>',
      'name of the standby (else the one that it answers)',
      nodeName('--new-node'),
    );
}
