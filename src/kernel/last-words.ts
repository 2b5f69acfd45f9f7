import type { Socket } from "node:net";

/** How long a peer has to read them and to close the connection itself. */
const lingerMs = 1_000;

/**
 * Says why a connection ends, and ends it, also when its peer does not: whoever neither closes it nor
 * falls silent would keep it open, and a file handle of ours with it, for as long as they like.
 */
export function endWith(socket: Socket, words: string): void {
  socket.end(words);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
