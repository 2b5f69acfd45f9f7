import { createServer } from "node:net";
import getPort from "get-port";
import pRetry from "p-retry";
import { portTaken } from "#kernel/listen.ts";

const host = "127.0.0.1";

/** The port to use: `wanted`, or a free one for 0. Throws `portTaken` when it is in use. */
export async function takePort(wanted: number, setting: string): Promise<number> {
  if (wanted === 0) return getPort({ host });
  const isFree = await canListen(wanted);
  if (isFree) return wanted;
  throw portTaken(wanted, setting);
}

/** Retries when another program took the chosen free port before the server listened on it. */
export function startOnFreePorts<T>(start: () => Promise<T>): Promise<T> {
  return pRetry(start, {
    retries: 2,
    minTimeout: 50,
    shouldRetry: ({ error }) => /address (?:already )?in use/i.test(error.message),
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
