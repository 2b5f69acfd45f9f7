/** The whole program while Postgres or Restate hangs: it accepts connections and answers nothing. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProcessIdentity } from "#kernel/process.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { hangProcesses, timed } from "../../support/servers/hang.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let cookie: string;

beforeAll(async () => {
  program = await startProgram({ VEDETTE_METRICS__READYZ_DEPENDENCIES: "true" });
  cookie = await signIn();
});

afterAll(() => program?.dispose());

/** The cookie of a session of the console. */
async function signIn(): Promise<string> {
  const answer = await fetch(`${program.endpoints().control}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: program.token() }),
  });
  expect(answer.status).toBe(200);
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

function ask(where: string, body: object = {}): Promise<Response> {
  return fetch(`${program.endpoints().control}/${where}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${program.token()}`,
      "content-type": "application/json",
      ...(where.startsWith("console") && { cookie }),
    },
    body: JSON.stringify(body),
  });
}

const readyz = async () => fetch(`${program.endpoints().metrics}/readyz`);

/** Hangs a server of a program whose servers all answer. */
async function hang(server: "postgres" | "restate"): Promise<() => void> {
  const answers = async () => {
    const calls = [ask(`${rollouts}/History`), ask(`${rollouts}/Status`), readyz()];
    return (await Promise.all(calls)).every(({ status }) => status === 200);
  };
  await waitFor(answers, { withinMs: 20_000, what: "all servers to answer" });
  const file = path.join(program.dataDir, `${server}.pid.json`);
  return hangProcesses((JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity).pid);
}

const rollouts = "vedette.v1.SentinelRolloutService/singleton";
const image = "registry.example.com/vedette/sentinel:v2";

/** Asserts a 503 that says when to try again. */
async function expectUnavailable(asked: () => Promise<Response>, withinMs: number) {
  const { answer, tookMs } = await timed(asked);
  const body = (await answer.json()) as { detail: string };
  expect({ status: answer.status, body }).toMatchObject({
    status: 503,
    body: { code: "unavailable" },
  });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(tookMs).toBeLessThan(withinMs);
  return body.detail;
}

type Asked = [what: string, where: string, body?: object];

describe("while Postgres hangs", () => {
  it.each<Asked>([
    ["the history", `${rollouts}/History`],
    ["the list of sentinels", "vedette.v1.FleetService/List"],
    ["the list of checks", "vedette.v1.CheckReads/List"],
    ["the summary of a check", "vedette.v1.CheckReads/Episodes"],
    ["the list of alert events", "vedette.v1.AlertEvents/List"],
    ["the list of windows", "vedette.v1.RolloutWindows/List"],
    ["a plan", `${rollouts}/Plan`, { image }],
    ["a run of a timed job, which blocks", "vedette.v1.CronService/key-refill/Run"],
    ["the console's history", `console/api/${rollouts}/History`],
    ["the console's list of checks", "console/api/vedette.v1.CheckReads/List"],
    ["the console's past rollout", "console/api/read/past-rollout", { rollout_id: "none" }],
    ["the console's sentinel", "console/api/read/sentinel", { id: "s-1", rollout_id: null }],
  ])("%s is answered 503 within five seconds", async (_, where, body = {}) => {
    await hang("postgres");

    await expectUnavailable(() => ask(where, body), 5_000);
  });

  it.each<Asked>([
    ["Mute of a check", "vedette.v1.ApiCheck/api-liveness/Mute"],
    ["Maintenance of a heartbeat", "vedette.v1.Heartbeat/usage-rollup/EndMaintenance"],
    ["the removal of a runner", "vedette.v1.MonitorRunners/Remove", { location: "fra" }],
    ["the removal of a window", "vedette.v1.RolloutWindows/Remove", { id: "a", reason: "old" }],
  ])("%s is answered 503 within five seconds, also when this is known", async (_, where, body) => {
    await hang("postgres");

    await expectUnavailable(() => ask(where, body), 5_000);
    await expectUnavailable(() => ask(where, body), 5_000);
  });

  it("Rollout and Cancel are answered 503, and carried out once Postgres continues", async () => {
    const resume = await hang("postgres");

    const details = [
      await expectUnavailable(() => ask(`${rollouts}/Rollout`, { image }), 5_000),
      await expectUnavailable(() => ask(`${rollouts}/Cancel`), 5_000),
    ];
    resume();

    expect(details.join()).toMatch(/Once it does, Restate carries out.*Once it does, Restate/);
    const status = async () => (await (await ask(`${rollouts}/Status`)).json()) as object;
    const isCancelled = async () => JSON.stringify(await status()).includes('"state":"cancelled"');
    await waitFor(isCancelled, { withinMs: 10_000, what: "the Cancel" });
    expect(await status()).toMatchObject({ image, outcome: "cancelled" });
  });

  it("Status is answered", async () => {
    await hang("postgres");

    const { answer, tookMs } = await timed(() => ask(`${rollouts}/Status`));

    expect(answer.status).toBe(200);
    expect(tookMs).toBeLessThan(5_000);
  });

  it("/readyz says so where the settings ask for it, and that it is back", async () => {
    const resume = await hang("postgres");

    await waitFor(async () => (await readyz()).status === 503, {
      withinMs: 10_000,
      what: "not ready",
    });
    const report = await (await readyz()).json();
    resume();
    await waitFor(async () => (await readyz()).status === 200, { withinMs: 10_000, what: "ready" });

    expect(report).toMatchObject({ status: "waiting", dependencies: { postgres: "down" } });
  });
});

describe("while Restate hangs", () => {
  it.each<Asked>([
    ["Status", `${rollouts}/Status`],
    ["Plan", `${rollouts}/Plan`, { image }],
    ["the list of checks", "vedette.v1.CheckReads/List"],
    ["the console's list of checks", "console/api/vedette.v1.CheckReads/List"],
  ])("%s is answered 503 within ten seconds", async (_, where, body = {}) => {
    await hang("restate");

    const detail = await expectUnavailable(() => ask(where, body), 10_000);

    expect(detail).toContain("try again in a moment");
  });

  it.each<Asked>([
    ["Cancel", `${rollouts}/Cancel`],
    ["RollbackAll", `${rollouts}/RollbackAll`],
    ["Resume, which blocks", `${rollouts}/Resume`],
    ["Rollout, which blocks", `${rollouts}/Rollout`, { image }],
  ])("%s is answered that it is not known whether it was taken", async (_, where, body = {}) => {
    await hang("restate");

    const detail = await expectUnavailable(() => ask(where, body), 10_000);

    expect(detail).toMatch(/not known whether it has taken the call.*Status/);
  });

  it("a call that comes once this is known is refused at once, and is not made", async () => {
    await hang("restate");
    await ask(`${rollouts}/Status`);

    const detail = await expectUnavailable(() => ask(`${rollouts}/Cancel`), 1_000);

    expect(detail).toContain("nothing was started");
  });

  it("the program answers again once Restate continues", async () => {
    const resume = await hang("restate");
    await ask(`${rollouts}/Status`);

    resume();

    await waitFor(async () => (await ask(`${rollouts}/Status`)).status === 200, {
      withinMs: 5_000,
      what: "Status",
    });
  });
});
