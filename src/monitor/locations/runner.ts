/** Runs checks at a further place: on the gateway's grid, by its clock, each by itself. */
import type { Log } from "#kernel/log.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { gridOf, isWithinReach, tickAfter } from "#monitor/rules/grid.ts";
import { ReportRefusedError } from "./client.ts";
import type { Work } from "./contract.ts";
export type RunnerParts = {
  /** Asks the gateway what to run. */
  askForWork: () => Promise<Work>;
  report: (results: CheckResult[]) => Promise<void>;
  run: (check: ApiCheck, of: { scheduledAtMs: number; work: Work }) => Promise<CheckResult>;
  log: Log;
  nowMs: () => number;
};

/** Work is asked for this often; the gateway takes it for a sign of life as well. */
const askEveryMs = 20_000;

/** Results that could not be reported yet: the oldest are given up, a check has moved on since. */
const maxWaiting = 1_000;

export type Runner = { stop: () => Promise<void> };

/** Throws when the first answer of the gateway does not come or is a refusal. */
export async function startRunner(parts: RunnerParts): Promise<Runner> {
  const schedule = createSchedule(parts);
  schedule.take(await askTimed(parts));
  const timer = setInterval(() => {
    askTimed(parts).then(schedule.take, (error: Error) =>
      parts.log.warn(
        { detail: error.message },
        "no work from control; going on with what is known",
      ),
    );
  }, askEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await schedule.stop();
    },
  };
}

type TimedWork = { work: Work; aheadMs: number };

/** How far the gateway's clock is ahead of ours: its answer was made half way between. */
async function askTimed({ askForWork, nowMs }: RunnerParts): Promise<TimedWork> {
  const askedMs = nowMs();
  const work = await askForWork();
  return { work, aheadMs: Math.round(work.now_ms - (askedMs + nowMs()) / 2) };
}

type TickTimer = { definition: string; dueMs: number; timer: NodeJS.Timeout };

function createSchedule(parts: RunnerParts) {
  const { run, log, nowMs } = parts;
  const outbox = createOutbox(parts);
  const timers = new Map<string, TickTimer>();
  const running = new Set<Promise<unknown>>();
  let aheadMs = 0;
  let isStopped = false;

  const arm = (check: ApiCheck, work: Work, lastMs = 0) => {
    const now = nowMs() + aheadMs;
    // A timer may fire a moment early, and the gateway's clock may go back: no tick runs twice.
    const dueMs = tickAfter(gridOf(check), { lastMs, nowMs: now });
    const timer = setTimeout(() => {
      const done = run(check, { scheduledAtMs: dueMs, work })
        .then(outbox.put)
        .catch((err) => log.error({ err, check: check.id }, "run not made"))
        .finally(() => running.delete(done));
      running.add(done);
      arm(check, work, dueMs);
    }, dueMs - now);
    timers.set(check.id, { definition: definitionOf(check, work), dueMs, timer });
  };
  /** Not for another definition, nor by a clock that was found to be wrong. */
  const isWellSet = ({ definition, dueMs }: TickTimer, check: ApiCheck, work: Work) =>
    definition === definitionOf(check, work) &&
    isWithinReach(gridOf(check), { dueMs, nowMs: nowMs() + aheadMs });

  return {
    /** Begins what is new, ends what is gone, and leaves the timers of the rest alone. */
    take(timed: TimedWork): void {
      // The last answer may come after the end, and would begin everything anew.
      if (isStopped) return;
      const { work } = timed;
      aheadMs = timed.aheadMs;
      const wanted = new Map(work.checks.map((check) => [check.id, check]));
      for (const [id, armed] of timers) {
        const check = wanted.get(id);
        if (check !== undefined && isWellSet(armed, check, work)) wanted.delete(id);
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

function definitionOf(check: ApiCheck, { base_url }: Work): string {
  return JSON.stringify([base_url, check]);
}

/** Reports what was found together, again and again until it is taken; in bounded memory. */
function createOutbox({ report, log }: RunnerParts) {
  const waiting: CheckResult[] = [];
  let sending: Promise<void> | undefined;

  const send = async () => {
    while (waiting.length > 0) {
      const group = waiting.slice(0, 100);
      try {
        await report(group);
      } catch (error) {
        const { message: detail } = error as Error;
        if (!(error instanceof ReportRefusedError)) {
          log.warn({ detail, waiting: waiting.length }, "not reported yet");
          return;
        }
        log.error({ detail, results: group.length }, "report refused: its results are given up");
      }
      waiting.splice(0, waiting.length, ...waiting.filter((result) => !group.includes(result)));
    }
  };
  const flush = () => {
    sending ??= send().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  return {
    put(result: CheckResult): void {
      waiting.push(result);
      if (waiting.length > maxWaiting) {
        waiting.shift();
        log.warn("a result was given up: control has been away for too long");
      }
      void flush();
    },
    flush,
  };
}
