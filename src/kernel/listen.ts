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
