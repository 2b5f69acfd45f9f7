/** Simulates rollouts in a thread of its own: `runAll` shares out the seeds of a task among as many threads as processors. */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import type { Ledger } from "../src/rollout/comparison/contract.ts";
import { evaluate } from "../src/rollout/comparison/evaluate.ts";
import { type Plan, type Scenario, simulate } from "./comparison-fleets.ts";

const minuteMs = 60_000;

export type Answer = "worse" | "better" | "early";

export type Task = { scenario: Scenario; plan: Plan } & (
  | { kind: "stops" }
  /** The minute of the only wave's soak in which the answer is first given. */
  | { kind: "minute"; answer: Answer }
);

/** Of one seed; `minute` is absent if the answer was not given. */
export type Outcome = { isStopped?: boolean; isByGuard?: boolean; minute?: number };

/** One call at the rollout's end has the evidence of all looks, and the total only grows. */
function findStop({ scenario, plan }: Task, seed: number): Outcome {
  const { history, now } = simulate(scenario, plan, seed);
  const { verdict, evidence } = evaluate(history, now);
  const isStopped = verdict === "worse";
  return { isStopped, isByGuard: isStopped && evidence.total < evidence.threshold };
}

/** Looks each minute with the ledger of the minute before, as a rollout does. */
function findMinute({ scenario, plan }: Task, answer: Answer, seed: number): Outcome {
  const { history, now } = simulate(scenario, plan, seed);
  let ledger: Ledger | undefined;
  for (let minute = 1; minute <= plan.soakMinutes; minute += 1) {
    const at = now - (plan.soakMinutes - minute) * minuteMs;
    const verdict = evaluate({ ...history, ...(ledger !== undefined && { ledger }) }, at);
    if (answer === "early" ? verdict.may_go_early : verdict.verdict === answer) return { minute };
    ledger = verdict.ledger;
  }
  return {};
}

const workers: Worker[] = [];

const cache = "node_modules/.cache/comparison";

/** Names what the same code finds again, since all is drawn from seeds: a run of hours may be cut off. */
function fileOf(task: Task, count: number): string {
  const hash = createHash("sha256").update(JSON.stringify({ task, count }));
  for (const file of globSync(["src/rollout/comparison/*.ts", "bench/comparison-*.ts"]).sort())
    hash.update(readFileSync(file));
  return path.join(cache, `${hash.digest("hex")}.json`);
}

/** Returns the outcomes of the task with the seeds 1 to `count`, in any order; those of before if they are kept. */
export async function runAll(task: Task, count: number): Promise<Outcome[]> {
  const file = fileOf(task, count);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  const outcomes = await simulateAll(task, count);
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, JSON.stringify(outcomes));
  return outcomes;
}

async function simulateAll(task: Task, count: number): Promise<Outcome[]> {
  while (workers.length < availableParallelism())
    workers.push(new Worker(new URL(import.meta.url)));
  const parts = workers.map(
    (worker, from) =>
      new Promise<Outcome[]>((resolve, reject) => {
        worker.once("message", (outcomes: Outcome[]) => {
          worker.off("error", reject);
          resolve(outcomes);
        });
        worker.once("error", reject);
        worker.postMessage({ task, from: from + 1, step: workers.length, count });
      }),
  );
  return (await Promise.all(parts)).flat();
}

export async function stopRuns(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
}

type Part = { task: Task; from: number; step: number; count: number };

if (!isMainThread)
  parentPort?.on("message", ({ task, from, step, count }: Part) => {
    const outcomes: Outcome[] = [];
    for (let seed = from; seed <= count; seed += step)
      outcomes.push(
        task.kind === "stops" ? findStop(task, seed) : findMinute(task, task.answer, seed),
      );
    parentPort?.postMessage(outcomes);
  });
