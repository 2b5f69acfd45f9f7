/**
 * The same episodes of a check through Vedette and through Alertmanager: what an incident service received
 * when everything is killed with `kill -9` around its events, and the service itself accepts six requests in
 * ten; the others get errors, rate limits, no answer, broken connections and lost answers.
 *
 * Vedette is the whole program: its own process, Restate and Postgres are killed together. Alertmanager
 * (Debian's, `apt-get install prometheus-alertmanager`) gets the check's state twice a second, far more often
 * than from Prometheus, and groups nothing.
 *
 * BENCH_ROUNDS: how often each scenario is run.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  behaveBadly,
  countFaults,
  createRandom,
  playScenarios,
} from "../test/support/alerts/alert-episodes.ts";
import { type AlertReceiver, startAlertReceiver } from "../test/support/alerts/alert-receiver.ts";
import {
  type AlertSystem,
  hasAlertmanager,
  startAlertmanager,
  startVedetteAlerts,
} from "../test/support/alerts/alert-systems.ts";
import { countFrom } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const interrupted = Promise.withResolvers<never>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => interrupted.reject(new Error(`interrupted by ${signal}`)));
}
// It may be rejected before anything awaits it.
interrupted.promise.catch(() => {});

const rounds = countFrom("BENCH_ROUNDS", 10);

/** Ends when nothing arrives for this long: longer than a hanging request, and than Alertmanager's flush. */
const stillMs = 30_000;

type Row = { system: string; scenario: string } & ReturnType<typeof countFaults>;

async function measure(
  system: string,
  start: (receiver: AlertReceiver) => Promise<AlertSystem>,
): Promise<Row[]> {
  const receiver = await startAlertReceiver();
  receiver.behave = behaveBadly(createRandom(1));
  const alerting = await start(receiver);
  try {
    const playing = playScenarios(alerting, { rounds, random: createRandom(2) });
    const played = await Promise.race([playing, interrupted.promise]);
    await Promise.race([untilStill(receiver), interrupted.promise]);
    return played.map((count) => {
      const faults = countFaults(receiver, alerting.checkId, count);
      return { system, scenario: count.scenario, ...faults };
    });
  } finally {
    await alerting.stop();
    await receiver.stop();
  }
}

async function untilStill(receiver: AlertReceiver): Promise<void> {
  let attempts = -1;
  while (attempts !== receiver.attemptsAtMs.length) {
    attempts = receiver.attemptsAtMs.length;
    await delay(stillMs);
  }
}

function report(rows: readonly Row[]): void {
  const sum = (system: string, of: (row: Row) => number) =>
    rows.filter((row) => row.system === system).reduce((all, row) => all + of(row), 0);
  const lost = sum("Vedette", (row) => row.lostFailures + row.lostRecoveries);
  reportFigure("events lost", lost, { atMost: 0 });
  const outOfOrder = sum("Vedette", (row) => row.outOfOrder);
  reportFigure("events out of order", outOfOrder, { atMost: 0 });
  reportFigure(
    "episodes",
    sum("Vedette", (row) => row.episodes),
  );
  const repeated = (system: string) => sum(system, (row) => row.repeated);
  reportFigure("events delivered again", repeated("Vedette"));
  const peer = "Alertmanager";
  reportFigure(
    "failures lost by Alertmanager",
    sum(peer, (row) => row.lostFailures),
  );
  reportFigure(
    "recoveries lost by Alertmanager",
    sum(peer, (row) => row.lostRecoveries),
  );
  reportFigure("events delivered again by Alertmanager", repeated(peer));
}

startBench("alerts");
if (!hasAlertmanager()) throw new Error("Alertmanager is not installed");
// Waits for both, so that a failure of one leaves no process of the other.
const measured = await Promise.allSettled([
  measure("Vedette", startVedetteAlerts),
  measure("Alertmanager", startAlertmanager),
]);
const rows = measured.flatMap((of) => (of.status === "fulfilled" ? of.value : []));
reportTable("Events lost, twice or out of order", rows);
for (const of of measured) if (of.status === "rejected") throw of.reason;
report(rows);
finishBench();
