/** Runs checks at a further location, each on its own grid by the gateway's clock, and calls the gateway for work and with results. */
import { onceAtATime } from "#kernel/async.ts";
import { parseJson, readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import type { Log } from "#kernel/log.ts";
import { cleanText } from "#kernel/text.ts";
import type { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { type KindName, kindNames, kinds } from "#monitor/kinds/contract.ts";
import { gridOf, isWithinReach, tickAfter } from "#monitor/rules/grid.ts";
import { reportPath, Work, workPath } from "./contract.ts";

type RunnerParts = {
  /** Fetches from the gateway what to run. */
  fetchWork: () => Promise<Work>;
  report: (results: CheckResult[]) => Promise<void>;
  /** null: the result says nothing, and is not reported. */
  run: (
    check: RunnableCheck,
    of: { scheduledAtMs: number; work: Work },
  ) => Promise<CheckResult | null>;
  log: Log;
  nowMs: () => number;
};

/** The interval of fetching the work, which is also the heartbeat of the runner. */
const fetchEveryMs = 20_000;

/** The maximum of unreported results: the oldest are dropped, since newer runs of the check followed. */
const maxWaiting = 1_000;

export type Runner = { stop: () => Promise<void> };

/** Throws when the first fetch of the work fails or is refused. */
export async function startRunner(parts: RunnerParts): Promise<Runner> {
  const schedule = createSchedule(parts);
  schedule.take(await fetchTimed(parts));
  const timer = setInterval(() => {
    fetchTimed(parts).then(schedule.take, (error: Error) =>
      parts.log.warn(
        { detail: error.message },
        "cannot fetch work from control, continuing with the last",
      ),
    );
  }, fetchEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await schedule.stop();
    },
  };
}

type TimedWork = { work: Work; aheadMs: number };

/** Estimates how far the gateway's clock is ahead of ours: it read its clock half-way through the call. */
async function fetchTimed({ fetchWork, nowMs }: RunnerParts): Promise<TimedWork> {
  const startedMs = nowMs();
  const work = await fetchWork();
  return { work, aheadMs: Math.round(work.now_ms - (startedMs + nowMs()) / 2) };
}

type TickTimer = { definition: string; dueMs: number; timer: NodeJS.Timeout };

function createSchedule(parts: RunnerParts) {
  const { run, log, nowMs } = parts;
  const outbox = createOutbox(parts);
  const timers = new Map<string, TickTimer>();
  const running = new Set<Promise<unknown>>();
  let aheadMs = 0;
  let isStopped = false;

  const arm = (check: RunnableCheck, work: Work, lastMs = 0) => {
    const now = nowMs() + aheadMs;
    // A timer may fire slightly early, and the gateway's clock may be set back: no tick runs twice.
    const dueMs = tickAfter(gridOf(check), { lastMs, nowMs: now });
    const timer = setTimeout(() => {
      const done = run(check, { scheduledAtMs: dueMs, work })
        .then((result) => {
          if (result !== null) outbox.put(result);
        })
        .catch((err) => log.error({ err, check: check.id }, "run not made"))
        .finally(() => running.delete(done));
      running.add(done);
      arm(check, work, dueMs);
    }, dueMs - now);
    timers.set(check.id, { definition: definitionOf(check, work), dueMs, timer });
  };
  /** True if a timer has the current definition, and a due time that the clock makes plausible. */
  const isCurrent = ({ definition, dueMs }: TickTimer, check: RunnableCheck, work: Work) =>
    definition === definitionOf(check, work) &&
    isWithinReach(gridOf(check), { dueMs, nowMs: nowMs() + aheadMs });

  return {
    /** Starts timers of new or changed checks, stops those of removed ones, and leaves the others alone. */
    take(timed: TimedWork): void {
      // An answer that arrives after `stop` would start all timers again.
      if (isStopped) return;
      const { work } = timed;
      aheadMs = timed.aheadMs;
      const wanted = new Map(work.checks.map((check) => [check.id, check]));
      for (const [id, armed] of timers) {
        const check = wanted.get(id);
        if (check !== undefined && isCurrent(armed, check, work)) wanted.delete(id);
        else {
          clearTimeout(armed.timer);
          timers.delete(id);
        }
      }
      for (const check of wanted.values()) arm(check, work);
    },

    async stop(): Promise<void> {
      isStopped = true;
      for (const { timer } of timers.values()) clearTimeout(timer);
      timers.clear();
      await Promise.all(running);
      await outbox.flush();
    },
  };
}

function definitionOf(check: RunnableCheck, { base_url }: Work): string {
  return JSON.stringify([base_url, check]);
}

/** Reports results in batches and retries until they are accepted, in bounded memory. */
function createOutbox({ report, log }: RunnerParts) {
  const waiting: CheckResult[] = [];

  const send = async () => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, 100);
      try {
        await report(batch);
      } catch (error) {
        const { message: detail } = error as Error;
        if (!(error instanceof ReportRefusedError)) {
          log.warn({ detail, waiting: waiting.length }, "not reported yet");
          return;
        }
        log.error({ detail, results: batch.length }, "report refused, its results are dropped");
      }
      waiting.splice(0, waiting.length, ...waiting.filter((result) => !batch.includes(result)));
    }
  };
  const flush = onceAtATime(send);
  return {
    put(result: CheckResult): void {
      waiting.push(result);
      if (waiting.length > maxWaiting) {
        waiting.shift();
        log.warn("a result was dropped: control has been unreachable for too long");
      }
      void flush();
    },
    flush,
  };
}

const timeoutMs = 10_000;

/** The work of ten thousand checks is some MB. */
const longestAnswerBytes = 32 * 1024 * 1024;

/** Statuses that a retry of the same request does not change. */
const refusals = new Set([400, 413, 415]);

/** The token is unknown: a retry does not help. */
export class RunnerRefusedError extends Error {}

/** Control does not accept this report: a retry does not help. */
export class ReportRefusedError extends Error {}

export function createRunnerClient({ control, token }: { control: string; token: string }) {
  const post = async (path: string, body: object): Promise<unknown> => {
    const answer = await request(`${control}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readBody(answer.body, longestAnswerBytes);
    const { statusCode: status } = answer;
    if (status === 401) throw new RunnerRefusedError(`${control} refused the token`);
    if (refusals.has(status)) throw new ReportRefusedError(`${control} answered ${status}`);
    if (status >= 300) throw new Error(`${control} answered ${status}`);
    if (text === undefined) {
      throw new Error(`the answer of ${control} is longer than ${longestAnswerBytes} bytes`);
    }
    const read = parseJson(text);
    if (read !== undefined) return read;
    throw new Error(`${control} is not a control of Vedette: its answer is not JSON`);
  };
  return {
    /** With the kinds of checks that are left out, since this version does not know them. */
    async fetchWork(): Promise<{ work: Work; unknownKinds: string[] }> {
      const answer = await post(workPath, { kinds: kindNames });
      const { known, unknownKinds } = splitByKind(answer);
      const parsed = Work.safeParse(known);
      if (parsed.success) return { work: parsed.data, unknownKinds };
      throw new Error(`${control} is not a control of Vedette, or one of another version`);
    },
    async report(results: readonly CheckResult[]): Promise<void> {
      await post(reportPath, { results });
    },
  };
}

/** The checks that this version knows, and the unknown words of the others. What is no answer stays as it is. */
export function splitByKind(answer: unknown): { known: unknown; unknownKinds: string[] } {
  const { checks } = (answer ?? {}) as { checks?: unknown };
  if (!Array.isArray(checks)) return { known: answer, unknownKinds: [] };
  const unknown = new Set<string>();
  const known = checks.filter((check: Record<string, unknown> | null) => {
    const word = findUnknown(check ?? {});
    if (word !== undefined && unknown.size < maxNamedKinds) unknown.add(cleanText(word, 20));
    return word === undefined;
  });
  return { known: { ...(answer as object), checks: known }, unknownKinds: [...unknown].sort() };
}

/** More are not named. */
const maxNamedKinds = 20;

/** The kind of a check, or another word of its kind, that is none of those that this version knows. */
function findUnknown(check: Record<string, unknown>): string | undefined {
  const { kind } = check;
  if (typeof kind !== "string") return undefined;
  if (!Object.hasOwn(kinds, kind)) return kind;
  for (const [name, schema] of Object.entries(kinds[kind as KindName].fields)) {
    const given = check[name];
    if (typeof given !== "string") continue;
    if (schema.safeParse(given).error?.issues[0]?.code === "invalid_value") return given;
  }
  return undefined;
}
