import type { Socket } from "node:net";

/** Time for a peer to read the last message and to close the connection itself. */
const lingerMs = 1_000;

/**
 * Sends a last message and closes the connection, even if the peer doesn't: a peer that keeps sending and
 * never closes would hold the connection, and a file descriptor of ours, for as long as it likes.
 */
export function endWith(socket: Socket, message: string): void {
  socket.end(message);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
