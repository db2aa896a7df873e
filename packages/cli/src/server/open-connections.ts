import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server, and which of them wait for an answer. */
export interface OpenConnections {
  /**
   * Closes each connection as soon as it waits for no answer. Node closes those that were kept after an answer, but
   * not one on which nothing was ever asked.
   */
  closeWhenAnswered(): void;
}

/** Follows the connections of a server from now on. */
export function openConnections(server: Server): OpenConnections {
  /** Answers that are owed, by connection. */
  const owed = new Map<Socket, number>();
  let isClosing = false;

  function add(socket: Socket, count: number): void {
    const known = owed.get(socket);
    if (known === undefined) return;
    owed.set(socket, known + count);
    if (isClosing && known + count === 0) socket.destroySoon();
  }

  server.on('connection', (socket) => {
    owed.set(socket, 0);
    socket.once('close', () => owed.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    // A client that is told to keep its connection would send the next request into nothing.
    if (isClosing) response.setHeader('connection', 'close');
    add(socket, 1);
    response.once('close', () => add(socket, -1));
  });
  return {
    closeWhenAnswered: () => {
      isClosing = true;
      for (const [socket, count] of owed) if (count === 0) socket.destroySoon();
    },
  };
}
