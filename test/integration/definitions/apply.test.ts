/** Definitions that are applied to a running program. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let server: Server;
let target: string;
/** What `gone` is answered; everything else is well. */
const state = { status: 200 };

beforeAll(async () => {
  server = createServer(({ url }, outgoing) =>
    outgoing.writeHead(url === "/gone" ? state.status : 200).end("{}"),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  program = await startProgram();
});

afterAll(async () => {
  await program?.dispose();
  server?.close();
});

const checkOf = (id: string, fields: object = {}) =>
  CheckRow.parse({ id, url: `${target}/${id}`, frequencySeconds: 10, ...fields });
const heartbeatOf = (id: string) =>
  HeartbeatRow.parse({ id, periodSeconds: 3_600, graceSeconds: 60 });

const definitions = (handler: string, body: object = {}) =>
  program.post(`vedette.v1.Definitions/singleton/${handler}`, body);
const apply = (set: object, fields: object = {}) =>
  definitions("Apply", { definitions: { ...emptySet, ...set }, ...fields });

type View = { id: string; status: string; since: string | null; alert: object | null };

async function listChecks(): Promise<View[]> {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return body["checks"] as View[];
}

const untilShown = (id: string, isSo: (view: View) => boolean) =>
  waitFor(async () => (await listChecks()).find((view) => view.id === id && isSo(view)), {
    withinMs: 60_000,
    what: `${id} to be shown so`,
  });

it("a start without a file has applied the standard rows", async () => {
  const { body } = await definitions("Show");

  expect(body).toMatchObject({ revision: 1, source: "standard", applied_by: "start" });
  expect((await listChecks()).map(({ id }) => id)).toContain("verify-key");
});

describe("an apply", () => {
  beforeAll(async () => {
    const rows = { checks: [checkOf("kept"), checkOf("gone")], heartbeats: [heartbeatOf("job")] };
    const { status, body } = await apply(rows, { prune: true });
    if (status !== 200) throw new Error(JSON.stringify(body));
    await untilShown("kept", ({ status }) => status === "ok");
    await untilShown("gone", ({ status }) => status === "ok");
  });

  it("removes what it lacks when it may prune", async () => {
    const ids = (await listChecks()).map(({ id }) => id);

    expect(ids).toEqual(["kept", "gone", "job"]);
  });

  it("runs a changed check by its new row, and does not touch one that did not change", async () => {
    const before = await untilShown("kept", () => true);
    state.status = 204;

    const changed = checkOf("gone", { assertions: [{ source: "status", equals: 204 }], name: "G" });
    await apply({ checks: [checkOf("kept"), changed], heartbeats: [heartbeatOf("job")] });
    const { body } = await waitFor(
      async () => {
        const run = await program.post("vedette.v1.ApiCheck/gone/Run");
        return run.body["grade"] === "ok" && run;
      },
      { withinMs: 20_000, what: "the check to run" },
    );
    const after = await untilShown("kept", () => true);

    expect(body).toMatchObject({ grade: "ok", status: 204 });
    expect(after.since).toBe(before.since);
  });

  it("resolves the alert of a removed check, and forgets a plan that is out of date", async () => {
    state.status = 500;
    await untilShown("gone", ({ alert }) => alert !== null);
    const { body: plan } = await definitions("Plan", {
      definitions: { ...emptySet, checks: [checkOf("kept")] },
      prune: true,
    });
    const base_revision = plan["revision"] as number;
    const late = await apply({}, { base_revision: base_revision - 1 });
    const rows = { checks: [checkOf("kept")], heartbeats: [heartbeatOf("job")] };
    const applied = await apply(rows, { prune: true, base_revision });
    state.status = 200;

    expect(late).toMatchObject({ status: 409, body: { code: "definitions_moved" } });
    expect(applied).toMatchObject({ status: 200, body: { revision: base_revision + 1 } });
    const resolved = await waitFor(
      async () => {
        const { body } = await program.post("vedette.v1.CheckReads/Episodes", { limit: 50 });
        const episodes = body["episodes"] as { check_id: string; resolved_at: string | null }[];
        return episodes.find(({ check_id, resolved_at }) => check_id === "gone" && resolved_at);
      },
      { withinMs: 20_000, what: "the alert to be resolved" },
    );
    expect(resolved.resolved_at).not.toBeNull();
  });

  it("leaves rows that it lacks, and says so", async () => {
    const { body } = await apply({ checks: [checkOf("kept")] });

    expect(body["changes"]).toContainEqual({ section: "heartbeats", key: "job", kind: "leave" });
    expect((await listChecks()).map(({ id }) => id)).toContain("job");
  });

  it("adds gates, which a rollout then names and a plan describes", async () => {
    const rows = [{ id: "sign-off", kind: "pause" }];
    const image = "registry.example.com/vedette/sentinel:v2";

    const applied = await apply({ gates: rows });
    const { body } = await program.post("vedette.v1.SentinelRolloutService/singleton/Plan", {
      image,
      gates: ["sign-off"],
    });

    expect(applied.body["changes"]).toContainEqual({
      ...{ section: "gates", key: "sign-off", kind: "add" },
    });
    expect(body).toMatchObject({ gates: [{ kind: "pause", name: "sign-off" }] });
  });

  it("is refused for a row that is not valid, and changes nothing", async () => {
    const { body: before } = await definitions("Show");

    const refused = await apply({ checks: [{ ...checkOf("kept"), frequencySeconds: 1 }] });

    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain("frequencySeconds");
    expect((await definitions("Show")).body).toEqual(before);
  });

  it("is refused for rows that do not fit each other", async () => {
    const refused = await apply({ checks: [checkOf("kept", { channels: ["pager"] })] });

    expect(refused).toMatchObject({ status: 400, body: { code: "invalid_definitions" } });
    expect(refused.body["detail"]).toContain("checks.kept.channels.0: there is no such channel");
  });

  it("is still in force after a start that has no file", async () => {
    await program.stop();
    await program.start();

    expect((await definitions("Show")).body).toMatchObject({ source: "command" });
    expect((await listChecks()).map(({ id }) => id)).toEqual(["kept", "job"]);
  });
});
