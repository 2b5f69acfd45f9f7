/** A whole program: a wave breaks the gateway of one region, and the alert of its check names that wave. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { SuspectView } from "#blame/contract.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

type Hook = { type: string; data: { check: string; changes?: SuspectView[] } };

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startHook() {
  const hooks: Hook[] = [];
  const url = await serve(async (request, response) => {
    const chunks = await request.toArray();
    hooks.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.end("{}");
  });
  return { hooks, url: `${url}/hook` };
}

/** The gateways of the fleet: `/<region>` fails once one of its sentinels runs a sick image and `isBroken` says so. */
function startGateways(fleet: FakeFleet, isBroken: () => boolean): Promise<string> {
  return serve(async (request, response) => {
    const sick = [...fleet.running()].filter(([, image]) => image.endsWith("-sick"));
    const isSick = sick.some(([id]) => request.url === `/${regionOf(id)}`);
    response.statusCode = isSick && isBroken() ? 500 : 200;
    response.end("{}");
  });
}

/** As the fake fleet places its sentinels. */
const regionOf = (id: string) => ["eu", "us", "ap"][Number(id.slice(3)) % 3];

const definitionsOf = (gateways: string, hook: string, more: string[] = []) =>
  [
    "channels:",
    `  - { id: hook, kind: webhook, url: "${hook}" }`,
    "checks:",
    ...["gateway-eu", "gateway-us", ...more].map(
      (id) =>
        `  - { id: ${id}, name: ${id}, environment: production, url: "${gateways}/${id.slice(8)}", frequencySeconds: 10, channels: [hook] }`,
    ),
  ].join("\n");

/** Makes a key by the public API and changes its limits: no check uses it. */
async function changeAKey(program: Program): Promise<void> {
  const credentials = readFileSync(path.join(program.dataDir, "credentials.json"), "utf8");
  const call = async (procedure: string, body: object) => {
    const answer = await fetch(`${program.endpoints().api}/v2/${procedure}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${JSON.parse(credentials).root_key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { data: Record<string, string> };
  };
  const { apiId } = (await call("apis.createApi", { name: "shop" })).data;
  const { keyId } = (await call("keys.createKey", { apiId })).data;
  await call("keys.updateKey", { keyId, enabled: false });
}

const countGood = async (program: Program, check: string): Promise<number> => {
  const { body } = await program.post("vedette.v1.CheckReads/History", { check, grade: "ok" });
  return (body as { results: unknown[] }).results.length;
};

it("an alert names the wave that broke its region first, not the later apply and change of a key", async () => {
  const fleet = await startFakeFleet({ size: 6 });
  onTestFinished(fleet.stop);
  let isBroken = false;
  const gateways = await startGateways(fleet, () => isBroken);
  const hook = await startHook();
  const file = path.join(tempDir(), "vedette.config.yaml");
  writeFileSync(file, definitionsOf(gateways, hook.url));
  const program = await startProgram({
    ...fleet.environment(),
    VEDETTE_DEFINITIONS__FILE: file,
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  });
  onTestFinished(() => program.dispose());
  // The first may have been at the moment of the definitions' apply.
  const ready = { withinMs: 60_000, what: "two good runs" };
  await waitFor(async () => (await countGood(program, "gateway-eu")) >= 2, ready);

  const image = "registry.example.com/vedette/sentinel:v2-sick";
  const { status: code, body } = await program.call("Rollout", {
    image,
    only: { regions: ["eu"] },
  });
  expect([code, body["state"]]).toEqual([200, "completed"]);
  writeFileSync(file, definitionsOf(gateways, hook.url, ["gateway-ap"]));
  const own = ["--data-dir", program.dataDir];
  const applied = await runVedette(["config", "apply", "--config", file, ...own]);
  expect(applied.stderr + applied.stdout).toContain("gateway-ap");
  await changeAKey(program);
  isBroken = true;

  const fired = await waitFor(() => hook.hooks.find(({ type }) => type === "alert.firing"), {
    withinMs: 60_000,
    what: "the alert",
  });
  const { check, changes = [] } = fired.data;
  expect(check).toBe("gateway-eu");
  expect(changes[0]).toMatchObject({ kind: "rollout", who: "ingress-token" });
  expect(changes[0]?.id).toMatch(new RegExp(`^${String(body["rollout_id"])}:wave-\\d$`));
  expect(changes[0]?.text).toContain("of eu, which the alert is about");
  expect(changes.map(({ kind }) => kind)).not.toContain("keys");
  expect(changes.map(({ kind }) => kind)).not.toContain("definitions");

  const blame = await runVedette(["alerts", "blame", "gateway-eu", ...own]);
  const status = await runVedette(["status", ...own]);
  const none = await runVedette(["alerts", "blame", "gateway-us", ...own]);
  expect(blame.stdout).toMatch(/gateway-eu #1, [\s\S]* %[\s\S]*rollout/);
  expect(status.stdout.replaceAll(/\s+/g, " ")).toContain("changed before:");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("no alert")]);
}, 240_000);
