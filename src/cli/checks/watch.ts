/** Follows the checks: prints their status, then a line for every change. */
import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "#cli/answer.ts";
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { pick } from "#kernel/text.ts";
import { formatUtc } from "#kernel/time.ts";
import { checkWords } from "#kernel/words.ts";
import type { CheckList, CheckView } from "#monitor/results/contract.ts";
import { reportChecks } from "./report.ts";

const everyMs = 2_000;

/** The shell's exit code for a program that Ctrl-C ended, which is how this command ends. */
const interruptedCode = 130;

export type CheckChange = {
  at: string;
  check: string;
  from: CheckView["status"];
  to: CheckView["status"];
  alert: "opened" | "resolved" | null;
  reason: string | null;
};

export async function watchChecks(wanted: string[], options: GlobalOptions): Promise<number> {
  const controller = new AbortController();
  const end = () => controller.abort();
  process.once("SIGINT", end);
  process.once("SIGTERM", end);
  try {
    return await follow(connect(options), {
      wanted,
      json: options.json,
      signal: controller.signal,
    });
  } catch (error) {
    if (controller.signal.aborted) return interruptedCode;
    throw error;
  } finally {
    process.off("SIGINT", end);
    process.off("SIGTERM", end);
  }
}

type Watch = { wanted: string[]; json: boolean; signal: AbortSignal };

async function follow(connection: Connection, { wanted, json, signal }: Watch): Promise<never> {
  let before = choose(await connection.checks("List", {}, signal), wanted);
  printAnswer(before, json, () => reportChecks(before));
  let isLost = false;
  for (;;) {
    await delay(everyMs, undefined, { signal });
    const list = await readAgain(connection, signal);
    if ((list === null) !== isLost) {
      isLost = !isLost;
      process.stderr.write(isLost ? "connection lost, trying again\n" : "connected again\n");
    }
    if (list !== null) {
      const now = choose(list, wanted);
      printChanges(findChanges(before, now), json);
      before = now;
    }
  }
}

function printChanges(changes: readonly CheckChange[], json: boolean): void {
  for (const change of changes) {
    if (json) printJson(change);
    else print(describeChange(change));
  }
}

/** null: the program cannot be reached, for example during a restart; the caller retries. */
async function readAgain(connection: Connection, signal: AbortSignal): Promise<CheckList | null> {
  try {
    return await connection.checks("List", {}, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof ConnectionError)) throw error;
    return null;
  }
}

function choose(list: CheckList, wanted: readonly string[]): CheckList {
  for (const id of wanted) pick("check", id, list.checks);
  const checks = list.checks.filter(({ id }) => wanted.length === 0 || wanted.includes(id));
  return { ...list, checks };
}

/** The checks whose status or alert has changed. */
export function findChanges(before: CheckList, now: CheckList): CheckChange[] {
  const known = new Map(before.checks.map((check) => [check.id, check]));
  return now.checks.flatMap((check) => {
    const last = known.get(check.id);
    if (last === undefined) return [];
    const alert = alertChange(last, check);
    if (last.status === check.status && alert === null) return [];
    const { id, status, reason } = check;
    return [{ at: now.taken_at, check: id, from: last.status, to: status, alert, reason }];
  });
}

function alertChange(before: CheckView, now: CheckView): CheckChange["alert"] {
  if (before.alert?.episode === now.alert?.episode) return null;
  return now.alert === null ? "resolved" : "opened";
}

function describeChange({ at, check, from, to, alert, reason }: CheckChange): string {
  const states = [...new Set([from, to])].map((status) => checkWords[status]).join(" -> ");
  const parts = [alert === null ? "" : `alert ${alert}`, plain(reason ?? "")];
  const why = parts.filter((part) => part !== "").join(": ");
  return `${formatUtc(at)}  ${check}: ${states}${why === "" ? "" : ` (${why})`}`;
}
