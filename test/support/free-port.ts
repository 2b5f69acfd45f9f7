/** Ports for servers that have to be told one, and that keep it over a restart. */
import { randomInt } from "node:crypto";
import getPort from "get-port";

/** Ports below what the system gives to whoever asks for any. */
const lowest = 12_000;
const portsPerWorker = 1_000;
const workers = 20;

/** Each worker of a test run has ports of its own: a port that looks free may be one that another is about to take. */
const from = lowest + (Number(process.env["VITEST_POOL_ID"] ?? 0) % workers) * portsPerWorker;

/** A free one: between now and the start of the server, and while it is down, no other test gets it. */
export function freePort(): Promise<number> {
  const candidates = Array.from({ length: 50 }, () => randomInt(from, from + portsPerWorker));
  return getPort({ host: "127.0.0.1", port: candidates });
}
