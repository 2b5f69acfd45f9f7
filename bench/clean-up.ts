/** Stops what a measurement has started. */

type Stop = () => unknown;

/** Runs `measure`, then what it has put into `stops`, the last first; also when it fails or is interrupted. */
export async function withStops(measure: (stops: Stop[]) => Promise<void>): Promise<void> {
  const stops: Stop[] = [];
  const interrupted = Promise.withResolvers<never>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interrupted.reject(new Error(`interrupted by ${signal}`)));
  }
  try {
    await Promise.race([measure(stops), interrupted.promise]);
  } finally {
    for (const stop of stops.reverse()) {
      // A part that fails to stop must not leave the others running.
      await Promise.try(stop).catch((error) => console.error("a part was not stopped:", error));
    }
  }
}
