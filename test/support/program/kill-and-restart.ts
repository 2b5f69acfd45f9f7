import type { Part, Program } from "./program.ts";

/** Kills these parts, and starts the program again if it was among them. */
export async function killAndRestart(program: Program, parts: readonly Part[]): Promise<void> {
  // The program's own process first: it would start the others again.
  for (const part of parts) program.kill9(part);
  if (parts.includes("main")) await program.start();
}
