/** Detaching from a rollout that is followed: the rollout continues. */
import { withFleetOption } from "./report.ts";

/** The shell's exit codes for a program that a signal ended. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Follows something until its end or until Ctrl-C. On Ctrl-C it prints how to follow it again. Returns the
 * exit code, after Ctrl-C the shell's code for it.
 */
export async function untilDetached(
  follow: (signal: AbortSignal) => Promise<number>,
  { cleanUp, fleet }: { cleanUp: () => void; fleet: string | undefined },
): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const detach = (name: keyof typeof codes) => {
    code = codes[name];
    controller.abort();
  };
  const names = Object.keys(codes) as (keyof typeof codes)[];
  // Once: a second Ctrl-C ends the program at once.
  for (const name of names) process.once(name, detach);
  try {
    return await follow(controller.signal);
  } catch (error) {
    if (code === undefined) throw error;
    cleanUp();
    const watch = withFleetOption("npx vedette rollout watch", fleet);
    process.stderr.write(`\nDetached; the rollout continues. Follow it: ${watch}\n`);
    return code;
  } finally {
    cleanUp();
    for (const name of names) process.off(name, detach);
  }
}
