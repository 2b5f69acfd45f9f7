/** Alert routes brought in step by the command and the whole program, against the double's server. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CronJobName, CronRun, cronServiceName } from "#cron/contract.ts";
import { Plan, RoutesStatus } from "#routing/incident/contract.ts";
import { type FakeChat, startFakeChat } from "../../../support/alerts/fake-chat.ts";
import { runVedette } from "../../../support/program/command.ts";
import { type Part, type Program, startProgram } from "../../../support/program/program.ts";
import {
  type IncidentServer,
  incidentKey,
  startIncidentServer,
} from "../../../support/routing/incident-server.ts";
import { aForeignRoute, edited } from "../../../support/routing/route-histories.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const names = [
  "Production Alerts",
  "Production Warnings",
  "Unrouted Alerts",
  "Database Alerts",
  "Staging Notifications",
  "Informational",
];

let incident: IncidentServer;
let chat: FakeChat;
let program: Program;
const dir = makeTempDir();
const planFile = path.join(dir.path, "plan.json");
const idsFile = path.join(dir.path, "ids.toml");

const incidentSettings = () => ({
  VEDETTE_INCIDENT__URL: incident.url,
  VEDETTE_INCIDENT__API_KEY: incidentKey,
  VEDETTE_INCIDENT__IDS_FILE: idsFile,
  VEDETTE_INCIDENT__LIST_LAG_SECONDS: "4",
});

beforeAll(async () => {
  writeFileSync(idsFile, '[channels]\n"#alerts" = "C0123"\n');
  incident = await startIncidentServer();
  chat = await startFakeChat();
  program = await startProgram({
    ...incidentSettings(),
    VEDETTE_FLEET__PROCESS__SIZE: "1",
    VEDETTE_SLACK__ALERT_ROUTES_WEBHOOK_URL: chat.url,
    VEDETTE_SLACK__MESSAGE_SPACING_MS: "20",
  });
});

afterAll(async () => {
  await program?.dispose();
  await incident?.stop();
  await chat?.stop();
  dir.remove();
});

const run = (...args: string[]) =>
  runVedette(["alerts", ...args], { ...incidentSettings(), VEDETTE_DATA_DIR: program.dataDir });

const routeNamed = (name: string) => {
  const found = [...incident.double.routes.values()].filter(
    ({ content }) => content["name"] === name,
  );
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} of ${name}`);
  return found[0];
};

const call = async (handler: string, body: unknown = {}) => {
  const { control } = program.endpoints();
  const answer = await fetch(`${control}/vedette.v1.AlertRoutes/singleton/${handler}`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
};

const status = async () => RoutesStatus.parse((await call("Status")).body);

const runJob = async (job: CronJobName) => {
  const answer = await fetch(`${program.endpoints().control}/${cronServiceName}/${job}/Run`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
    body: "{}",
  });
  return CronRun.parse(await answer.json());
};

const killRunner = async () => {
  const { restate_admin: admin } = program.endpoints();
  const authorization = { authorization: `Bearer ${program.token()}` };
  const query =
    "SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.AlertRoutesRunner' AND status <> 'completed'";
  const answer = await fetch(`${admin}/query`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await answer.json()) as { rows: { id: string }[] };
  for (const { id } of rows)
    await fetch(`${admin}/invocations/${id}/kill`, { method: "PATCH", headers: authorization });
};

const untilDrift = (state: string) =>
  waitFor(async () => (await status()).drift?.state === state, {
    withinMs: 30_000,
    what: `drift to be ${state}`,
  });

const titles = () => chat.messages.map(({ text }) => text);

describe("alert routes", () => {
  it("have drifted before they were ever applied, and people are notified once", async () => {
    await untilDrift("drifted");

    const { drift } = await status();
    expect(drift?.routes.map(({ why }) => why)).toEqual(names.map(() => "not_applied"));
    await waitFor(() => titles().length === 1, { withinMs: 10_000, what: "a message" });
    expect(titles()[0]).toContain("differ from their rows");
  });

  it("are planned by reading alone, with exit code 2 for changes", async () => {
    const { code, stdout } = await run("plan", "--out", planFile);

    expect(code).toBe(2);
    expect(stdout).toContain("create Production Alerts");
    expect(stdout).toContain("(Engineering On-Call)");
    expect(stdout).toContain("6 to create, 0 to update, 0 in step");
    expect(incident.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
    expect(Plan.parse(JSON.parse(readFileSync(planFile, "utf8"))).routes).toHaveLength(6);
  });

  it("are created by a saved plan, each once", async () => {
    const { code, stdout } = await run("apply", planFile);

    expect(code).toBe(0);
    expect(stdout).toContain("all routes are as planned");
    expect(incident.double.writes).toEqual(names.map((name) => `POST ${name}`));
    expect(incident.double.faults).toEqual([]);
  });

  it("are in step then, and people are notified that drift has ended", async () => {
    await untilDrift("in_step");

    const { code, stdout } = await run("plan");

    expect([code, stdout.trim()]).toEqual([0, "all 6 routes are in step"]);
    await waitFor(() => titles().length === 2, { withinMs: 10_000, what: "a second message" });
    expect(titles()[1]).toContain("in step again");
  });

  it("are counted for Prometheus by whether they have drifted", async () => {
    const answer = await fetch(`${program.endpoints().metrics}/metrics`);

    const text = await answer.text();
    expect(text).toContain("vedette_alert_routes_drifted 0\n");
    expect(text).toContain("vedette_alert_routes_unknown 0\n");
  });

  it("are compared with their rows by a timed job", async () => {
    const { checked_at: before } = (await status()).drift ?? {};

    const ran = await runJob("alert-routes-drift");

    expect(ran).toMatchObject({ outcome: "succeeded", summary: "in step" });
    const { drift, next_check_at } = await status();
    expect(drift?.checked_at).not.toBe(before);
    expect(next_check_at).toMatch(/:00:00\.000Z$/);
  });

  it("are not written when they are in step", async () => {
    const { length } = incident.double.writes;

    const { code } = await run("apply");

    expect(code).toBe(0);
    expect(incident.double.writes).toHaveLength(length);
  });

  it("stop at what someone else changed since the plan, and show the difference", async () => {
    const { id } = routeNamed("Informational");
    incident.double.edit(id, (content) => edited(content, "disable"));
    await run("plan", "--out", planFile);
    incident.double.edit(id, (content) => edited(content, "channel"));

    const { code, stdout } = await run("apply", planFile);

    expect(code).toBe(1);
    expect(stdout).toContain("changed by someone else since the plan");
    expect(stdout).toMatch(/enabled, changed by us/);
    expect(stdout).toMatch(/channel_config, changed by someone else/);
    expect(routeNamed("Informational").content["enabled"]).toBe(false);
  });

  it("of which one has a namesake are named by plan, apply, status and the metric", async () => {
    const { id } = routeNamed("Informational");
    const twin = incident.double.add(aForeignRoute("Informational"));

    const planned = await run("plan");
    const applied = await run("apply");
    await untilDrift("drifted");
    const shown = await run("status");
    const metrics = await fetch(`${program.endpoints().metrics}/metrics`);

    incident.double.routes.delete(twin.id);
    const advice = `${id} is ours; disable or delete ${twin.id} at the incident service`;
    expect([planned.code, applied.code]).toEqual([2, 1]);
    for (const { stdout } of [planned, applied, shown]) expect(stdout).toContain(advice);
    expect(await metrics.text()).toContain("vedette_alert_routes_doubled 1\n");
  });

  it("are brought back by a new plan", async () => {
    const { code } = await run("apply");

    expect(code).toBe(0);
    expect(routeNamed("Informational").content["enabled"]).toBe(true);
  });

  it("are found under another name when they are ours", async () => {
    const { id } = routeNamed("Database Alerts");
    incident.double.edit(id, (content) => ({ ...content, name: "DB" }));

    const { code } = await run("apply");

    expect(code).toBe(0);
    expect(routeNamed("Database Alerts").id).toBe(id);
  });

  it("are put back as a backup has them, others' too", async () => {
    const theirs = incident.double.add(aForeignRoute("Theirs"));
    incident.double.edit(routeNamed("Informational").id, (content) => edited(content, "disable"));
    await run("apply");
    const { last_apply } = await status();
    incident.double.edit(theirs.id, (content) => edited(content, "note"));

    const dry = await run("restore", last_apply?.backup ?? "", "--dry-run");
    const { code } = await run("restore", last_apply?.backup ?? "");

    expect(dry.code).toBe(2);
    expect(code).toBe(0);
    expect(routeNamed("Informational").content["enabled"]).toBe(false);
    expect(routeNamed("Theirs").id).toBe(theirs.id);
  });

  it("are kept before each apply, and the backups are listed", async () => {
    const { last_apply } = await status();

    const { code, stdout } = await run("backups");

    expect(code).toBe(0);
    expect(stdout).toContain(last_apply?.backup);
  });

  it("say what is wrong when a name has no id", async () => {
    const { attributes } = incident.double;
    incident.double.attributes = [];

    const { code, stderr } = await run("plan");

    incident.double.attributes = attributes;
    expect(code).toBe(1);
    expect(stderr).toContain("attribute severity is not known");
  });

  it("never show the key of the incident service or a source's token", async () => {
    const { stdout, stderr } = await run("plan", "--json");

    const everything = `${stdout}${stderr}${program.output()}${readFileSync(planFile, "utf8")}`;
    expect(everything).not.toContain(incidentKey);
    expect(everything).not.toContain("s3cret-of-a-source");
  });

  it("are refused with a plan for another service", async () => {
    const saved = JSON.parse(readFileSync(planFile, "utf8")) as Plan;

    const { status: code, body } = await call("Apply", {
      plan: { ...saved, incident_url: "https://elsewhere.example.com" },
    });

    expect(code).toBe(409);
    expect(body).toMatchObject({ code: "other_incident_service" });
  });
});

describe("a route of ours whose row is gone", () => {
  it("is reported by a plan, disabled with --prune, and deleted the next time", async () => {
    incident.double.add(aForeignRoute("A bystander"));
    await run("apply", "--adopt");
    await run("plan", "--out", planFile);
    const saved = JSON.parse(readFileSync(planFile, "utf8")) as Plan;
    const [row] = saved.routes.slice(-1);
    const old = { ...row, name: "Old", action: "create", id: null, base: null };
    const declared = { ...row?.declared, name: "Old" };
    await call("Apply", { plan: { ...saved, routes: [{ ...old, declared }] } });

    const planned = await run("plan");
    const disabled = await run("apply", "--prune");
    const wasEnabled = routeNamed("Old").content["enabled"];
    const deleted = await run("apply", "--prune");

    expect(planned.stdout).toContain("Old is ours and has no row any more");
    expect(disabled.stdout).toMatch(/Old +disabled/);
    expect(wasEnabled).toBe(false);
    expect(deleted.stdout).toMatch(/Old +deleted/);
    expect(() => routeNamed("Old")).toThrow("0 of Old");
    expect(routeNamed("A bystander").content["enabled"]).toBe(true);
  });
});

describe("a running apply", () => {
  it("keeps others out, and is closed when it is killed for good", async () => {
    const { double } = incident;
    double.routes.delete(routeNamed("Informational").id);
    await run("plan", "--out", planFile);
    const plan = JSON.parse(readFileSync(planFile, "utf8"));
    let isHeld = false;
    incident.hold = async ({ method }) => {
      if (method === "GET") return;
      isHeld = true;
      await new Promise(() => {});
    };

    const first = call("Apply", { plan });
    await waitFor(() => isHeld, { withinMs: 30_000, what: "a write" });
    const second = await call("Apply", { plan });
    await killRunner();
    const { body } = await first;
    incident.hold = async () => {};

    expect(second).toMatchObject({ status: 409, body: { code: "already_applying" } });
    expect(body).toMatchObject({ outcome: "stopped", total: 6 });
    expect((await status()).applying).toBeNull();
    expect((await run("apply", planFile)).code).toBe(0);
  });
});

type Killing = { parts: Part[]; isWanted: (write: string) => boolean };

describe("an apply whose program is killed", { retry: 0 }, () => {
  it.each<Killing>([
    { parts: ["main"], isWanted: () => true },
    { parts: ["main", "restate", "postgres"], isWanted: (write) => write.endsWith("after") },
  ])(
    "goes on after kills of $parts around its writes, and writes nothing twice",
    async ({ parts, isWanted }) => {
      const { double } = incident;
      await run("apply", "--adopt");
      const [made, changed] = [names.slice(0, 2), names.slice(4)];
      for (const name of made) double.routes.delete(routeNamed(name).id);
      for (const name of changed) {
        double.edit(routeNamed(name).id, (content) => edited(content, "channel"));
      }
      await run("plan", "--out", planFile);
      double.lag.lagMs = 2_000;
      double.writes.length = 0;
      const killed = new Set<string>();
      let isDown = false;
      incident.hold = async ({ method, body }, moment) => {
        const write = `${method} ${(body as { name?: string } | undefined)?.name} ${moment}`;
        if (method === "GET" || killed.has(write) || !isWanted(write)) return;
        killed.add(write);
        for (const part of parts) program.kill9(part);
        isDown = true;
        throw new Error("nobody waits for the answer any more");
      };

      const before = (await status()).last_apply?.apply_id;
      await call("Apply/send", { plan: JSON.parse(readFileSync(planFile, "utf8")) });
      const result = await waitFor(
        async () => {
          if (isDown) {
            isDown = false;
            // The next kill may well come before it is ready: then this fails, and it is down again.
            await program.start();
          }
          const { applying, last_apply } = await status();
          return applying === null && last_apply?.apply_id !== before && (last_apply ?? false);
        },
        { withinMs: 280_000, what: "the apply to end" },
      );

      incident.hold = async () => {};
      expect(result.routes.map(({ outcome }) => outcome)).toEqual([
        ...["created", "created", "in_step", "in_step", "updated", "updated"],
      ]);
      expect(double.writes).toEqual([
        ...made.map((name) => `POST ${name}`),
        ...changed.map((name) => `PUT ${name}`),
      ]);
      expect(killed.size).toBe(parts.length === 1 ? 8 : 4);
      expect(double.faults).toEqual([]);
      expect((await run("plan")).code).toBe(0);
      double.lag.lagMs = 0;
    },
    600_000,
  );
});
