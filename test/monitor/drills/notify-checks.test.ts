import type { ObjectContext } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import { notifyChecks } from "#monitor/definitions/notify-checks.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const schedule = { cron: "0 9 * * 1", timezone: "UTC" };
const drill = aHeartbeat({
  id: "weekly",
  periodSeconds: undefined,
  schedule,
  drill: { graceSeconds: 900, channel: "production" },
});
const job = aHeartbeat({ id: "job" });
const noted = { apiChecks: [], heartbeats: [] };
const setOf = (...heartbeats: (typeof job)[]) => ({ apiChecks: [], channels: [], heartbeats });

/** The calls that are sent, as `<service>/<key>/<handler>`. */
function callsOf(tell: (ctx: ObjectContext) => void): string[] {
  const calls: string[] = [];
  const sendClient = ({ name }: { name: string }, key: string) =>
    new Proxy({}, { get: (_, handler) => () => calls.push(`${name}/${key}/${String(handler)}`) });
  tell({ sendClient } as unknown as ObjectContext);
  return calls.map((call) => call.replace("vedette.v1.", ""));
}

it("a drill that is new or changed is started, after its heartbeat was told", () => {
  const calls = callsOf((ctx) =>
    notifyChecks(ctx, { before: setOf(job), known: noted, after: setOf(job, drill) }),
  );

  expect(calls).toEqual(["Heartbeat/weekly/redefine", "Drill/weekly/start"]);
});

it("a drill that is the same is told nothing, and one that is gone ends its alert", () => {
  const before = setOf(job, drill);

  expect(callsOf((ctx) => notifyChecks(ctx, { before, known: noted, after: before }))).toEqual([]);
  expect(callsOf((ctx) => notifyChecks(ctx, { before, known: noted, after: setOf(job) }))).toEqual([
    "Heartbeat/weekly/retire",
  ]);
});
