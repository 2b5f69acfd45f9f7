/** Servers that hang: their processes are stopped, so that they accept connections and answer nothing. */
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";

/** Stops a process and all of its descendants. Returns how to let them continue, which also the end of the test does. */
export function hangProcesses(pid: number): () => void {
  const stopped = new Set<number>();
  const stop = (one: number) => {
    stopped.add(one);
    signal(one, "SIGSTOP");
    for (const child of childrenOf(one)) stop(child);
  };
  stop(pid);
  const resume = () => {
    for (const one of stopped) signal(one, "SIGCONT");
    stopped.clear();
  };
  onTestFinished(resume);
  return resume;
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The answer, and how long it took. */
export async function timed<Answer>(
  ask: () => Promise<Answer>,
): Promise<{ answer: Answer; tookMs: number }> {
  const startedMs = performance.now();
  const answer = await ask();
  return { answer, tookMs: performance.now() - startedMs };
}
