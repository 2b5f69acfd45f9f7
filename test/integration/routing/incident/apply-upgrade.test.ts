/** An apply that is running while the worker is upgraded from a version that did not record who applies. */
import {
  InvocationIdParser,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
} from "@restatedev/restate-sdk";
import { iface } from "@restatedev/restate-sdk-core";
import { expect, it } from "vitest";
import type { BackupStore } from "#routing/incident/backups.ts";
import {
  type ApplyRequest,
  type ApplyResult,
  alertRoutesHandlers,
  alertRoutesName,
} from "#routing/incident/contract.ts";
import { type ApplyBegun, alertRoutesRuns } from "#routing/incident/internal.ts";
import { createAlertRoutesObject } from "#routing/incident/object.ts";
import { neverAsked } from "../../../support/never-asked.ts";
import { startUpgradable } from "../../../support/servers/upgrade.ts";
import { readActor } from "../../../support/signed-call.ts";

const incidentUrl = "http://incident.example.com";
const at = "2026-01-01T00:00:00.000Z";
const plan = {
  format: "vedette-alert-plan-1",
  incident_url: incidentUrl,
  made_at: at,
  of: "routes",
  routes: [],
  orphans: [],
  names: {},
};

/** Its `Apply` has the steps of the versions before. */
const earlierRoutes = iface.object(alertRoutesName, {
  Apply: iface.shared.schemas(alertRoutesHandlers.Apply),
  begin: iface.json<ApplyRequest, ApplyBegun>(),
});

const earlier = implement(earlierRoutes, {
  handlers: {
    Apply: async (ctx: ObjectSharedContext, request) => {
      const { invocation } = await ctx.client(earlierRoutes, ctx.key).begin(request);
      return ctx.invocation(InvocationIdParser.fromString(invocation)).attach<ApplyResult>();
    },
    begin: async (ctx: ObjectContext, request) => {
      const applyId = ctx.rand.uuidv4();
      const work = { applyId, startedAtMs: 0, request, owned: {} };
      const invocation = await ctx.sendClient(alertRoutesRuns, ctx.key).apply(work).invocationId;
      return { applyId, invocation };
    },
  },
});

/** An apply that ends when it is let, and writes nothing. */
function heldApply() {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const service = implement(alertRoutesRuns, {
    handlers: {
      apply: async (ctx, { applyId }): Promise<ApplyResult> => {
        await ctx.run("hold", () => {
          begun.resolve();
          return gate.promise;
        });
        const result = { apply_id: applyId, started_at: at, ended_at: at, total: 0, routes: [] };
        return { ...result, backup: null, doubled: [], outcome: "applied" };
      },
      check: async () => null,
    },
  });
  return { service, begun: begun.promise, end: gate.resolve };
}

it("is answered by the later version, with the name of who asked for it", {
  timeout: 60_000,
}, async () => {
  const apply = heldApply();
  const bench = await startUpgradable([earlier, apply.service]);
  const answer = bench.call(`${alertRoutesName}/singleton/Apply`, { plan }, "ada");
  await apply.begun;
  await bench.untilAttached();

  const parts = { incidentUrl, nextCheckAtMs: undefined, listLagMs: 0, readActor };
  const backups = neverAsked<BackupStore>();
  await bench.upgrade([createAlertRoutesObject({ ...parts, backups }), apply.service]);
  apply.end();

  expect(await answer).toMatchObject({ status: 200, body: { outcome: "applied", by: "ada" } });
});
