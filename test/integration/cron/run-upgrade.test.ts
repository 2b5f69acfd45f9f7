/** A run that an operator waits for while the worker is upgraded from a version that did not record who started it. */
import {
  InvocationIdParser,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
} from "@restatedev/restate-sdk";
import { iface } from "@restatedev/restate-sdk-core";
import { expect, it } from "vitest";
import { type CronRun, cronHandlers, cronServiceName } from "#cron/contract.ts";
import { cronRuns, type Launched } from "#cron/internal.ts";
import { createCronObject } from "#cron/object.ts";
import { startUpgradable } from "../../support/servers/upgrade.ts";
import { readActor } from "../../support/signed-call.ts";

const at = "2026-01-01T00:00:00.000Z";

/** Its `Run` has the steps of the versions before. */
const earlierJobs = iface.object(cronServiceName, {
  Run: iface.shared.schemas(cronHandlers.Run),
  launch: iface.json<Record<string, never>, Launched>(),
});

const earlier = implement(earlierJobs, {
  handlers: {
    Run: async (ctx: ObjectSharedContext) => {
      const { invocation } = await ctx.client(earlierJobs, ctx.key).launch({});
      return ctx.invocation(InvocationIdParser.fromString(invocation)).attach<CronRun>();
    },
    launch: async (ctx: ObjectContext) => {
      const order = { runId: ctx.rand.uuidv4(), startedAtMs: 0 };
      return { invocation: await ctx.sendClient(cronRuns, ctx.key).run(order).invocationId };
    },
  },
});

/** A run that ends when it is let. */
function heldRun() {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const service = implement(cronRuns, {
    handlers: {
      run: async (ctx, { runId }): Promise<CronRun> => {
        await ctx.run("hold", () => {
          begun.resolve();
          return gate.promise;
        });
        const times = { started_at: at, ended_at: at };
        return { run_id: runId, outcome: "succeeded", summary: "done", ...times };
      },
    },
  });
  return { service, begun: begun.promise, end: gate.resolve };
}

it("is answered by the later version, with the name of who asked for it", {
  timeout: 60_000,
}, async () => {
  const run = heldRun();
  const bench = await startUpgradable([earlier, run.service]);
  const answer = bench.call(`${cronServiceName}/count-keys/Run`, {}, "ada");
  await run.begun;
  await bench.untilAttached();

  const job = {
    schedule: { everyMs: 86_400_000, offsetMs: 0 },
    retryForMs: 0,
    run: async () => "",
  };
  const later = createCronObject({ jobs: { "count-keys": job }, readActor });
  await bench.upgrade([later, run.service]);
  run.end();

  expect(await answer).toMatchObject({ status: 200, body: { outcome: "succeeded", by: "ada" } });
});
