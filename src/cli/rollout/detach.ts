/** Leaving a rollout that is followed: it goes on without whoever looks on. */

/** The shell's own codes for a program that a signal ended. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Follows something until its end or until Ctrl-C, which says how to come back and ends with
 * the shell's code for that. Answers the exit code.
 */
export async function untilDetached(
  follow: (signal: AbortSignal) => Promise<number>,
  cleanUp: () => void,
): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const detach = (name: keyof typeof codes) => {
    code = codes[name];
    controller.abort();
  };
  const names = Object.keys(codes) as (keyof typeof codes)[];
  // Once: a second Ctrl-C ends the program as ever.
  for (const name of names) process.once(name, detach);
  try {
    return await follow(controller.signal);
  } catch (error) {
    if (code === undefined) throw error;
    cleanUp();
    process.stderr.write("\nDetached; the rollout goes on. Come back: npx vedette rollout watch\n");
    return code;
  } finally {
    cleanUp();
    for (const name of names) process.off(name, detach);
  }
}
