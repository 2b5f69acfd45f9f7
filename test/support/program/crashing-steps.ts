/** Steps that keep a journal, as Restate does, and a process that ends in the middle of them. */
import type { Steps } from "#routing/incident/steps.ts";

class Crash extends Error {}

/** What happens at the step of a number: it ends before it is carried out, or before it is kept. */
export type CrashPoint = "before" | "unkept";

type Kept = { name: string; value: unknown };

/**
 * Does the work again from its beginning, as often as it crashes: steps that were kept are not
 * carried out again. A crash is taken out of `crashes` when it happens. Throws when the work takes
 * other steps the next time.
 */
export async function runCrashing<T>(
  crashes: Map<number, CrashPoint>,
  work: (steps: Steps) => Promise<T>,
): Promise<T> {
  const journal: Kept[] = [];
  for (;;) {
    try {
      return await work(replay(journal, crashes));
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
}

function replay(journal: Kept[], crashes: Map<number, CrashPoint>): Steps {
  let position = 0;
  const run: Steps["run"] = async (name, action) => {
    const at = position;
    position += 1;
    const kept = journal[at];
    if (kept !== undefined) return recall(kept, name) as Awaited<ReturnType<typeof action>>;
    const point = crashes.get(at);
    crashes.delete(at);
    if (point === "before") throw new Crash();
    const value = await action();
    if (point === "unkept") throw new Crash();
    journal.push({ name, value: structuredClone(value) });
    return value;
  };
  return { run, sleep: (ms) => run(`sleep ${ms}`, async () => {}) };
}

function recall(kept: Kept, name: string): unknown {
  if (kept.name !== name) throw new Error(`a step was ${kept.name}, and is ${name} now`);
  return structuredClone(kept.value);
}
