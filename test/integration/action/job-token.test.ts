/** The scripts of a pipeline without any secret: a runner hands out tokens, and a real control takes them. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { audience, type CiIssuer, startCiIssuer } from "../../support/ci/ci-issuer.ts";
import { startJobBench } from "../../support/ci/job-bench.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { runChild } from "./run-child.ts";
import { image, startScriptedControl } from "./scripted-control.ts";

const script = fileURLToPath(new URL("../../../action/rollout.mjs", import.meta.url));
const shell = readFileSync("examples/ci-pipeline/rollout.sh", "utf8");

let ci: CiIssuer;

beforeAll(async () => {
  ci = await startCiIssuer();
});
afterAll(() => ci.stop());

const completing = [{ state: "in_progress" }, { state: "completed", succeeded: 4 }];

async function startControl(scenes: { state: string; succeeded?: number }[] = completing) {
  const restate = await startScriptedControl({ scenes, isBehind: true });
  const row = { name: "github:acme/shop", issuer: ci.issuer, audience, repository_id: "4711" };
  const bench = await startJobBench({
    rows: [{ ...row, ref: "main" }],
    ingressUrl: restate.url,
  });
  onTestFinished(() => bench.stop());
  return { ...restate, bench };
}

/** Answers as GitHub's runner does, with a new token each time. */
async function startRunner(claims: Record<string, unknown> = {}, lastsSeconds = 300) {
  const asked: string[] = [];
  const tokens: string[] = [];
  const server = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://runner");
    asked.push(searchParams.get("audience") ?? "");
    if (request.headers.authorization !== "Bearer of-the-runner") {
      response.writeHead(401).end();
      return;
    }
    const exp = Math.floor(Date.now() / 1_000) + lastsSeconds;
    tokens.push(await ci.sign({ aud: searchParams.get("audience") ?? "", exp, ...claims }));
    response.end(JSON.stringify({ value: tokens.at(-1) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const environment = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-runner",
  };
  return { asked, tokens, environment };
}

const runStep = (url: string, environment: Record<string, string>) =>
  runChild([process.execPath, script], {
    VEDETTE_CONTROL_URL: url,
    VEDETTE_IMAGE: image,
    VEDETTE_POLL_MS: "20",
    VEDETTE_AUDIENCE: audience,
    ...environment,
  });

describe("the Action's script", () => {
  it("rolls out with the job's own token, and without any secret", async () => {
    const control = await startControl();
    const runner = await startRunner();

    const { code, output } = await runStep(control.bench.url, runner.environment);

    expect(output).toContain("completed");
    expect(code).toBe(0);
    expect(control.callsOf("Rollout").map(({ body }) => body)).toEqual([{ image }]);
    expect(runner.tokens).toHaveLength(1);
    expect(control.bench.lines).toContainEqual(
      expect.objectContaining({ message: "ci job admitted", run: "42", repository: "acme/shop" }),
    );
  });

  it("asks for a token for the address of control, unless it is told another audience", async () => {
    const control = await startControl();
    const runner = await startRunner();
    const { url } = control.bench;

    await runStep(url, { ...runner.environment, VEDETTE_AUDIENCE: "" });
    await runStep(url, runner.environment);

    expect(runner.asked).toEqual([url, audience]);
  });

  it("goes on with a new token when its session ends, in the same call", async () => {
    const scenes = Array.from({ length: 150 }, () => ({ state: "in_progress", succeeded: 1 }));
    const control = await startControl([...scenes, { state: "completed", succeeded: 4 }]);
    const runner = await startRunner({}, 3);

    const { code } = await runStep(control.bench.url, runner.environment);

    expect(code).toBe(0);
    expect(runner.tokens.length).toBeGreaterThan(1);
    const keys = control.callsOf("Rollout").map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(1);
  });

  it("ends with the reason when control does not trust the job", async () => {
    const control = await startControl();
    const runner = await startRunner({ ref: "refs/heads/evil" });

    const { code, output } = await runStep(control.bench.url, runner.environment);

    expect(code).toBe(1);
    expect(output).toContain("does not take the job's token (wrong_ref): the ref refs/heads/evil");
    expect(control.callsOf("Rollout")).toEqual([]);
  });

  it("has the runner hide its tokens, and prints none elsewhere", async () => {
    const control = await startControl();
    const runner = await startRunner();

    const elsewhere = await runStep(control.bench.url, runner.environment);
    const there = await runStep(control.bench.url, {
      ...runner.environment,
      GITHUB_ACTIONS: "true",
    });

    expect(elsewhere.output).not.toMatch(/eyJ|vds_/);
    const shown = there.output.split("\n").filter((line) => /eyJ|vds_/.test(line));
    expect(shown).toHaveLength(2);
    expect(shown.every((line) => line.startsWith("::add-mask::"))).toBe(true);
  });

  it("says what a job without a token lacks", async () => {
    const { code, output } = await runStep("http://127.0.0.1:1", {});

    expect(code).toBe(1);
    expect(output).toContain("permissions: id-token: write");
  });
});

describe.skipIf(!hasPrograms("curl", "jq"))("the shell step", () => {
  const runShell = (url: string, token: string) =>
    runChild(["sh", "-c", shell], {
      VEDETTE_CONTROL_URL: url,
      VEDETTE_ID_TOKEN: token,
      IMAGE: image,
      POLL_SECONDS: "0.2",
    });

  it("rolls out with the token that its CI has given it", async () => {
    const control = await startControl();

    const { code, output } = await runShell(control.bench.url, await ci.sign());

    expect(output).toContain("completed");
    expect(code).toBe(0);
  });

  it("ends with the reason when the token was used", async () => {
    const control = await startControl();
    const token = await ci.sign();
    await control.bench.exchange(token);

    const { code, output } = await runShell(control.bench.url, token);

    expect(code).toBe(1);
    expect(output).toContain("this token was used before");
  });
});
