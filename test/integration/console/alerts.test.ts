/** What the console shows of alerts: one that is open, a dead letter, and routes that have drifted. */
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { type AlertReceiver, startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import { saveRecords } from "../../support/monitor/check-rows.ts";
import { type ConsoleProgram, startConsoleProgram } from "../../support/program/console-browser.ts";
import type { Program } from "../../support/program/program.ts";
import { incidentKey, startIncidentServer } from "../../support/routing/incident-server.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const fleet = { size: 3 };

/** Makes the heartbeat's ping URL, and lets its job say that it failed. */
async function failJob({ program }: ConsoleProgram, check: string): Promise<void> {
  const token = randomBytes(32).toString("base64url");
  const { control } = program.endpoints();
  const token_hash = createHash("sha256").update(token).digest("hex");
  expect(await callHeartbeat(program, `${check}/Register`, { token_hash })).toBe(200);
  const pinged = await fetch(`${control}/${token}/fail`);
  expect(pinged.status).toBe(200);
}

/** Answers the status. */
async function callHeartbeat(program: Program, path: string, body: object): Promise<number> {
  const { control } = program.endpoints();
  const answer = await fetch(`${control}/vedette.v1.Heartbeat/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** The program's own API is checked too, and on a busy machine may fail a check. */
function eventsOf({ events }: AlertReceiver, check: string) {
  return events.filter(({ deduplicationKey }) => deduplicationKey === check);
}

describe.skipIf(!hasBrowser)("an alert", () => {
  it("is acknowledged by a click, and sent again when the service refused it", async () => {
    const receiver = await startAlertReceiver();
    onTestFinished(receiver.stop);
    receiver.script.push({ status: 422, body: { type: "validation_error", status: 422 } });
    const console = await startConsoleProgram(fleet, {
      VEDETTE_INCIDENT__URL: receiver.url,
      VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
      VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
    });
    onTestFinished(console.stop);
    await failJob(console, "certificate-workflow");
    const { page } = await console.open("/checks");

    await page.getByRole("heading", { name: /\d open alert/ }).waitFor();
    await page.getByRole("heading", { name: "Alert events that were not accepted" }).waitFor();
    const refused = page.getByRole("row", { name: /^Certificate Workflow Failure/ });
    await refused.getByRole("button", { name: "Send again…" }).click();
    await page.getByRole("button", { name: "Send again", exact: true }).click();
    await page.getByRole("link", { name: "Certificate Workflow", exact: true }).click();
    await page.getByRole("button", { name: "Acknowledge…" }).click();
    await page.getByRole("button", { name: "Acknowledge", exact: true }).click();

    await page.getByText("Acknowledged by the ingress token (no operator)").waitFor();
    await page.getByText(/^accepted/).waitFor();
    expect(eventsOf(receiver, "certificate-workflow").map(({ eventId }) => eventId)).toEqual([
      "certificate-workflow:1:opened",
    ]);
  });
});

describe.skipIf(!hasBrowser)("an alert after a rollout", () => {
  it("names it by its image, says that it had ended, and leads to its page", async () => {
    const console = await startConsoleProgram(fleet);
    onTestFinished(console.stop);
    const image = "registry.example.com/vedette/sentinel:v7";
    const { body } = await console.program.call("Rollout", { image, wave_percentages: [100] });
    expect(body["state"]).toBe("completed");
    await failJob(console, "certificate-workflow");
    const { page } = await console.open("/checks/certificate-workflow");

    const words = new RegExp(`^the rollout of ${image}\\S* had ended .+ before$`);
    await page.getByRole("row").getByRole("link", { name: words }).waitFor();
    await page.getByRole("link", { name: words }).first().click();

    await page.getByRole("heading", { name: "Completed" }).waitFor();
    await page
      .getByText(/ by the ingress token \(no operator\)/)
      .first()
      .waitFor();
  });
});

describe.skipIf(!hasBrowser)("a failure that was suppressed", () => {
  it("is listed among the alerts of its check, with a link to what had failed", async () => {
    const console = await startConsoleProgram(fleet);
    onTestFinished(console.stop);
    const log = createLog({ level: "silent", format: "json" });
    const database = openDatabase(runningDatabaseUrl(console.program.dataDir), log);
    onTestFinished(() => database.end());
    const untilMs = Date.now();
    const span = { by: "liveness", sinceMs: untilMs - 60_000, untilMs, reason: "local: HTTP 503" };
    await saveRecords(database, { suppressions: [{ checkId: "rate-limit", ...span }] });
    const { page } = await console.open("/checks/rate-limit");

    const row = page.getByRole("row").filter({ hasText: "Suppressed" });
    await row.getByText("local: HTTP 503 · alerted nobody, because liveness failed").waitFor();
    await row.getByText("1 min", { exact: true }).waitFor();
    await row.getByRole("link", { name: "liveness" }).click();

    await page.getByRole("heading", { name: /^Liveness:/ }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("what others have named", () => {
  it("fits into a window of 360 pixels, and runs nothing", async () => {
    const console = await startConsoleProgram(fleet);
    onTestFinished(console.stop);
    const { program } = console;
    const rollouts: unknown[] = [];
    for (const letter of ["v", "w"]) {
      const image = `registry.example.com/${letter.repeat(100)}:${letter.repeat(128)}`;
      const { body } = await program.call("Rollout", { image });
      rollouts.push(body["rollout_id"]);
    }
    const check = "certificate-workflow";
    await failJob(console, check);
    const by = `<img src=x onerror=document.title=1>${"W".repeat(160)}`;
    await expect.poll(() => callHeartbeat(program, `${check}/Acknowledge`, { by })).toBe(200);
    const { page, address } = await console.open();
    await page.setViewportSize({ width: 360, height: 700 });
    const widths: unknown[] = [];

    await page.goto(`${address}/history/${rollouts.join("/")}`);
    await page.getByText("After").waitFor();
    widths.push(await page.evaluate("document.documentElement.scrollWidth"));
    await page.goto(`${address}/checks/${check}`);
    await page.getByText("<img src=x").waitFor();
    widths.push(await page.evaluate("document.documentElement.scrollWidth"));

    expect(widths).toEqual([360, 360]);
    expect(await page.title()).not.toBe("1");
  });
});

describe.skipIf(!hasBrowser)("the link of an alert event", () => {
  it("leads to the page of its check, also when control has taken a free port", async () => {
    const receiver = await startAlertReceiver();
    onTestFinished(receiver.stop);
    const console = await startConsoleProgram(fleet, {
      VEDETTE_CONTROL__PORT: "0",
      VEDETTE_INCIDENT__URL: receiver.url,
      VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
      VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
    });
    onTestFinished(console.stop);
    await failJob(console, "certificate-workflow");
    const ofJob = () => eventsOf(receiver, "certificate-workflow");
    await expect.poll(() => ofJob().length).toBe(1);
    const { page } = await console.open();

    await page.goto(String(ofJob()[0]?.body["source_url"]));

    await page.getByRole("heading", { name: /^Certificate Workflow:/ }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("alert routes", () => {
  it("that are not at the incident service yet are shown as drifted", async () => {
    const incident = await startIncidentServer();
    onTestFinished(incident.stop);
    const dir = makeTempDir();
    onTestFinished(dir.remove);
    const idsFile = path.join(dir.path, "ids.toml");
    writeFileSync(idsFile, '[channels]\n"#alerts" = "C0123"\n');
    const console = await startConsoleProgram(fleet, {
      VEDETTE_INCIDENT__URL: incident.url,
      VEDETTE_INCIDENT__API_KEY: incidentKey,
      VEDETTE_INCIDENT__IDS_FILE: idsFile,
    });
    onTestFinished(console.stop);

    const { page } = await console.open("/routes");

    await page.getByText(/^Drift, found /).waitFor();
    await page.getByText("Production Alerts: its row has changed and was not applied").waitFor();
  });
});
