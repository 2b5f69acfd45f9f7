import { createServer } from "node:net";

/** The error for a port that another program uses; `setting` is the one that names the port. */
export function portTaken(port: number, setting: string, options?: ErrorOptions): Error {
  const advice = `end it or set ${setting} (0 takes a free port)`;
  return new Error(`port ${port} is taken by another program; ${advice}`, options);
}

/** Waits until a server listens. Throws `portTaken` when its port is in use. */
export async function listening<T>(
  start: Promise<T>,
  at: { port: number; setting: string },
): Promise<T> {
  try {
    return await start;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause;
    throw portTaken(at.port, at.setting, { cause });
  }
}

/** True if several threads or processes may listen at one port, among which the system divides connections. */
export function canSharePorts(platform = process.platform): boolean {
  return platform === "linux" || platform === "freebsd";
}

/**
 * Throws `portTaken` when another program listens at the port. For a port that will be shared among threads: listening
 * would not fail there if the other program shares its port as well.
 */
export async function requireFreePort(at: {
  host: string;
  port: number;
  setting: string;
}): Promise<void> {
  const { host, port } = at;
  if (port === 0) return;
  const server = createServer();
  const tried = Promise.withResolvers<void>();
  server.once("error", tried.reject);
  server.listen({ host, port }, tried.resolve);
  await listening(tried.promise, at);
  await new Promise((resolve) => server.close(resolve));
}
