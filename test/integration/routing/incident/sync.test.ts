/** Alert routes brought in step by the command and the whole program, against the double's server. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CronJobName, CronRun, cronServiceName } from "#cron/contract.ts";
import { Plan } from "#routing/incident/contract.ts";
import { incidentKey } from "../../../support/routing/incident-server.ts";
import { aForeignRoute, edited } from "../../../support/routing/route-histories.ts";
import {
  type RoutesProgram,
  routeNames,
  startRoutesProgram,
} from "../../../support/routing/routes-program.ts";
import { waitFor } from "../../../support/wait-for.ts";

let routes: RoutesProgram;

beforeAll(async () => {
  routes = await startRoutesProgram();
});

afterAll(() => routes?.stop());

const runJob = async (job: CronJobName) => {
  const answer = await fetch(
    `${routes.program.endpoints().control}/${cronServiceName}/${job}/Run`,
    {
      method: "POST",
      headers: {
        authorization: `Bearer ${routes.program.token()}`,
        "content-type": "application/json",
      },
      body: "{}",
    },
  );
  return CronRun.parse(await answer.json());
};

const killRunner = async () => {
  const { restate_admin: admin } = routes.program.endpoints();
  const authorization = { authorization: `Bearer ${routes.program.token()}` };
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
  waitFor(async () => (await routes.status()).drift?.state === state, {
    withinMs: 30_000,
    what: `drift to be ${state}`,
  });

const titles = () => routes.chat.messages.map(({ text }) => text);

describe("alert routes", () => {
  it("have drifted before they were ever applied, and people are notified once", async () => {
    await untilDrift("drifted");

    const { drift } = await routes.status();
    expect(drift?.routes.map(({ why }) => why)).toEqual(routeNames.map(() => "not_applied"));
    await waitFor(() => titles().length === 1, { withinMs: 10_000, what: "a message" });
    expect(titles()[0]).toContain("differ from their rows");
  });

  it("are planned by reading alone, with exit code 2 for changes", async () => {
    const { code, stdout } = await routes.run("plan", "--out", routes.planFile);

    expect(code).toBe(2);
    expect(stdout).toContain("create Production Alerts");
    expect(stdout).toContain("(Engineering On-Call)");
    expect(stdout).toContain("6 to create, 0 to update, 0 in step");
    expect(routes.incident.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
    expect(Plan.parse(routes.savedPlan()).routes).toHaveLength(6);
  });

  it("are created by a saved plan, each once", async () => {
    const { code, stdout } = await routes.run("apply", routes.planFile);

    expect(code).toBe(0);
    expect(stdout).toContain("all routes are as planned");
    expect(routes.incident.double.writes).toEqual(routeNames.map((name) => `POST ${name}`));
    expect(routes.incident.double.faults).toEqual([]);
  });

  it("name who applied them, in their status and for the command", async () => {
    const by = async () => (await routes.status()).last_apply?.by;
    await expect.poll(by).toBe("ingress-token");

    const { stdout } = await routes.run("status");

    expect(stdout).toMatch(
      /^last apply: applied at \S+ \S+ UTC, by the ingress token \(no operator\)$/m,
    );
    const lines = routes.program.output().split("\n");
    const line = lines.find((text) => text.includes("alert routes apply started"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ by: "ingress-token", adopt: false });
  });

  it("are in step then, and people are notified that drift has ended", async () => {
    await untilDrift("in_step");

    const { code, stdout } = await routes.run("plan");

    expect([code, stdout.trim()]).toEqual([0, "all 6 routes are in step"]);
    await waitFor(() => titles().length === 2, { withinMs: 10_000, what: "a second message" });
    expect(titles()[1]).toContain("in step again");
  });

  it("are counted for Prometheus by whether they have drifted", async () => {
    const answer = await fetch(`${routes.program.endpoints().metrics}/metrics`);

    const text = await answer.text();
    expect(text).toContain("vedette_alert_routes_drifted 0\n");
    expect(text).toContain("vedette_alert_routes_unknown 0\n");
  });

  it("are compared with their rows by a timed job", async () => {
    const { checked_at: before } = (await routes.status()).drift ?? {};

    const ran = await runJob("alert-routes-drift");

    expect(ran).toMatchObject({ outcome: "succeeded", summary: "in step" });
    const { drift, next_check_at } = await routes.status();
    expect(drift?.checked_at).not.toBe(before);
    expect(next_check_at).toMatch(/:00:00\.000Z$/);
  });

  it("are not written when they are in step", async () => {
    const { length } = routes.incident.double.writes;

    const { code } = await routes.run("apply");

    expect(code).toBe(0);
    expect(routes.incident.double.writes).toHaveLength(length);
  });

  it("stop at what someone else changed since the plan, and show the difference", async () => {
    const { id } = routes.routeNamed("Informational");
    routes.incident.double.edit(id, (content) => edited(content, "disable"));
    await routes.run("plan", "--out", routes.planFile);
    routes.incident.double.edit(id, (content) => edited(content, "channel"));

    const { code, stdout } = await routes.run("apply", routes.planFile);

    expect(code).toBe(1);
    expect(stdout).toContain("changed by someone else since the plan");
    expect(stdout).toMatch(/enabled, changed by us/);
    expect(stdout).toMatch(/channel_config, changed by someone else/);
    expect(routes.routeNamed("Informational").content["enabled"]).toBe(false);
  });

  it("of which one has a namesake are named by plan, apply, status and the metric", async () => {
    const { id } = routes.routeNamed("Informational");
    const twin = routes.incident.double.add(aForeignRoute("Informational"));

    const planned = await routes.run("plan");
    const applied = await routes.run("apply");
    await untilDrift("drifted");
    const shown = await routes.run("status");
    const metrics = await fetch(`${routes.program.endpoints().metrics}/metrics`);

    routes.incident.double.routes.delete(twin.id);
    const advice = `${id} is ours; disable or delete ${twin.id} at the incident service`;
    expect([planned.code, applied.code]).toEqual([2, 1]);
    for (const { stdout } of [planned, applied, shown]) expect(stdout).toContain(advice);
    expect(await metrics.text()).toContain("vedette_alert_routes_doubled 1\n");
  });

  it("are brought back by a new plan", async () => {
    const { code } = await routes.run("apply");

    expect(code).toBe(0);
    expect(routes.routeNamed("Informational").content["enabled"]).toBe(true);
  });

  it("are found under another name when they are ours", async () => {
    const { id } = routes.routeNamed("Database Alerts");
    routes.incident.double.edit(id, (content) => ({ ...content, name: "DB" }));

    const { code } = await routes.run("apply");

    expect(code).toBe(0);
    expect(routes.routeNamed("Database Alerts").id).toBe(id);
  });

  it("are put back as a backup has them, others' too", async () => {
    const theirs = routes.incident.double.add(aForeignRoute("Theirs"));
    routes.incident.double.edit(routes.routeNamed("Informational").id, (content) =>
      edited(content, "disable"),
    );
    await routes.run("apply");
    const { last_apply } = await routes.status();
    routes.incident.double.edit(theirs.id, (content) => edited(content, "note"));

    const dry = await routes.run("restore", last_apply?.backup ?? "", "--dry-run");
    const { code } = await routes.run("restore", last_apply?.backup ?? "");

    expect(dry.code).toBe(2);
    expect(code).toBe(0);
    expect(routes.routeNamed("Informational").content["enabled"]).toBe(false);
    expect(routes.routeNamed("Theirs").id).toBe(theirs.id);
  });

  it("are kept before each apply, and the backups are listed", async () => {
    const { last_apply } = await routes.status();

    const { code, stdout } = await routes.run("backups");

    expect(code).toBe(0);
    expect(stdout).toContain(last_apply?.backup);
  });

  it("say what is wrong when a name has no id", async () => {
    const { attributes } = routes.incident.double;
    routes.incident.double.attributes = [];

    const { code, stderr } = await routes.run("plan");

    routes.incident.double.attributes = attributes;
    expect(code).toBe(1);
    expect(stderr).toContain("attribute severity is not known");
  });

  it("never show the key of the incident service or a source's token", async () => {
    const { stdout, stderr } = await routes.run("plan", "--json");

    const everything = `${stdout}${stderr}${routes.program.output()}${readFileSync(routes.planFile, "utf8")}`;
    expect(everything).not.toContain(incidentKey);
    expect(everything).not.toContain("s3cret-of-a-source");
  });

  it("are refused with a plan for another service", async () => {
    const saved = routes.savedPlan();

    const { status: code, body } = await routes.call("Apply", {
      plan: { ...saved, incident_url: "https://elsewhere.example.com" },
    });

    expect(code).toBe(409);
    expect(body).toMatchObject({ code: "other_incident_service" });
  });
});

describe("a route of ours whose row is gone", () => {
  it("is reported by a plan, disabled with --prune, and deleted the next time", async () => {
    routes.incident.double.add(aForeignRoute("A bystander"));
    await routes.run("apply", "--adopt");
    await routes.run("plan", "--out", routes.planFile);
    const saved = routes.savedPlan();
    const [row] = saved.routes.slice(-1);
    const old = { ...row, name: "Old", action: "create", id: null, base: null };
    const declared = { ...row?.declared, name: "Old" };
    await routes.call("Apply", { plan: { ...saved, routes: [{ ...old, declared }] } });

    const planned = await routes.run("plan");
    const disabled = await routes.run("apply", "--prune");
    const wasEnabled = routes.routeNamed("Old").content["enabled"];
    const deleted = await routes.run("apply", "--prune");

    expect(planned.stdout).toContain("Old is ours and has no row any more");
    expect(disabled.stdout).toMatch(/Old +disabled/);
    expect(wasEnabled).toBe(false);
    expect(deleted.stdout).toMatch(/Old +deleted/);
    expect(() => routes.routeNamed("Old")).toThrow("0 of Old");
    expect(routes.routeNamed("A bystander").content["enabled"]).toBe(true);
  });
});

describe("a running apply", () => {
  it("keeps others out, and is closed when it is killed for good", async () => {
    const { double } = routes.incident;
    double.routes.delete(routes.routeNamed("Informational").id);
    await routes.run("plan", "--out", routes.planFile);
    const plan = routes.savedPlan();
    let isHeld = false;
    routes.incident.hold = async ({ method }) => {
      if (method === "GET") return;
      isHeld = true;
      await new Promise(() => {});
    };

    const first = routes.call("Apply", { plan });
    await waitFor(() => isHeld, { withinMs: 30_000, what: "a write" });
    const second = await routes.call("Apply", { plan });
    await killRunner();
    const { body } = await first;
    routes.incident.hold = async () => {};

    expect(second).toMatchObject({ status: 409, body: { code: "already_applying" } });
    expect(body).toMatchObject({ outcome: "stopped", total: 6 });
    expect((await routes.status()).applying).toBeNull();
    expect((await routes.run("apply", routes.planFile)).code).toBe(0);
  });
});
