/** Ports for servers that have to be told one, and that keep it over a restart. */
import { randomInt } from "node:crypto";
import getPort from "get-port";

/**
 * A free one of those below what the system gives to whoever asks for any: between now and the start
 * of the server, and while it is down, no other test gets it.
 */
export function freePort(): Promise<number> {
  const candidates = Array.from({ length: 50 }, () => randomInt(12_000, 32_000));
  return getPort({ host: "127.0.0.1", port: candidates });
}
