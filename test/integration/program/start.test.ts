/** The program is started, called, stopped and restarted, with its real sentinel processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive, type ProcessIdentity } from "#kernel/process.ts";
import { childLimitMs, entry } from "../../support/program/command.ts";
import { freePorts, type Program, startProgram } from "../../support/program/program.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = (tag: string) => `registry.example.com/vedette/sentinel:${tag}`;

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "3",
    VEDETTE_ANALYTICS__ENABLED: "true",
  });
});

afterAll(() => program?.dispose());

type Run = { code: number | null; stdout: string; stderr: string };

async function run(args: string[], environment: Record<string, string> = {}): Promise<Run> {
  const child = spawn(process.execPath, [entry, ...args], {
    env: {
      PATH: process.env["PATH"],
      VEDETTE_DATA_DIR: program.dataDir,
      ...environment,
    },
    timeout: childLimitMs,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

const servingSentinels = () =>
  [1, 2, 3].map((n) => {
    const file = path.join(program.dataDir, "sentinels", `sentinel-0${n}.json`);
    return JSON.parse(readFileSync(file, "utf8")).serving as ProcessIdentity | null;
  });

const pidsOfSentinels = () => servingSentinels().map((serving) => serving?.pid);

/** A program that is ready may still be starting them. */
const untilSentinelsServe = () =>
  waitFor(() => servingSentinels().every((serving) => serving !== null && isAlive(serving)), {
    withinMs: 20_000,
    what: "the sentinels to serve",
  });

describe("the program", () => {
  it("logs its addresses, with one JSON object per line", async () => {
    // The file with the addresses is written shortly before the line.
    await waitFor(() => program.output().includes('"msg":"vedette is ready"}\n'), {
      withinMs: 5_000,
      what: "the line that says so",
    });

    const parsed = program
      .output()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));

    expect(parsed.find(({ msg }) => msg === "vedette is ready")).toMatchObject({
      msg: "vedette is ready",
      control: program.endpoints().control,
      console: `${program.endpoints().control}/console`,
      docs: `${program.endpoints().api}/docs`,
      try: expect.stringContaining("rollout start"),
    });
  });

  it("keeps its secrets readable by its owner only, and out of its log", () => {
    const { mode } = statSync(path.join(program.dataDir, "credentials.json"));

    expect(mode & 0o777).toBe(0o600);
    expect(program.output()).not.toContain(program.token());
    expect(program.output()).not.toContain("#ticket=");
  });

  it("rolls an image out to its real sentinels by the command line", async () => {
    const { code, stdout } = await run(["rollout", "start", image("v2"), "--wait"]);

    expect(code).toBe(0);
    expect(stdout).toContain("completed: 3 of 3 on the new image, 0 failed, 0 in flight");
  });

  it("ends with code 2 and says what to do when a wave fails", async () => {
    const { code, stdout } = await run(["rollout", "start", image("v3-crash"), "--wait"]);

    expect(code).toBe(2);
    expect(stdout).toContain("crash_loop: exit code 1");
    expect(stdout).toContain("npx vedette rollout rollback");
  });

  it("refuses what is not legal with one line and code 1", async () => {
    const { code, stderr } = await run(["rollout", "start", image("v4"), "--wait"]);

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^vedette: The rollout of \S+ is paused \(.*\)\. Next: vedette rollout status\. Rollout is not legal in state paused; .*\n$/,
    );
  });

  it("rolls back, and prints JSON for programs", async () => {
    const { code, stdout } = await run(["rollout", "rollback", "--json"]);

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ state: "cancelled", not_reverted: [] });
  });

  it("lists its sentinels with the reason of a failed deploy", async () => {
    const { stdout } = await run(["sentinels", "list", "--json"]);

    const { sentinels } = JSON.parse(stdout) as { sentinels: Record<string, string>[] };
    expect(sentinels).toHaveLength(3);
    expect(sentinels.map(({ running_image }) => running_image)).toEqual([
      image("v2"),
      image("v2"),
      image("v2"),
    ]);
    expect(sentinels.filter(({ deploy_status }) => deploy_status === "failed")).toHaveLength(1);
  });

  it("lists past rollouts with who started them", async () => {
    const { stdout } = await run(["rollout", "history", "--json"]);

    const { rollouts } = JSON.parse(stdout) as { rollouts: Record<string, unknown>[] };
    expect(rollouts).toMatchObject([
      { image: image("v3-crash"), state: "cancelled", failed: 1, started_by: "ingress-token" },
      { image: image("v2"), state: "completed", succeeded: 3 },
    ]);
  });

  it("refuses a second program on the same data directory with one line", async () => {
    const { code, stderr } = await run(["start"]);

    expect(code).toBe(1);
    expect(stderr).toMatch(/^vedette: data_dir .* is in use by process \d+; .*\n$/);
  });

  it("names every invalid setting at once, one line each", async () => {
    const { code, stderr } = await run(["start"], {
      VEDETTE_CONTROL__PORT: "x",
      VEDETTE_FLEET__DRIVER: "y",
    });

    expect(code).toBe(1);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });

  it("says which port is taken and which setting changes it, and leaves no server", async () => {
    const dir = tempDir();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;

    const { code, stderr } = await run(["start"], {
      ...freePorts,
      VEDETTE_DATA_DIR: dir,
      VEDETTE_DATABASE__PORT: String(port),
    });

    taken.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^vedette: port ${port} is taken .*database\\.port.*\\n$`));
    expect(readdirSync(dir).filter((name) => name.endsWith(".pid.json"))).toEqual([]);
  });

  it("accepts only signed requests at the worker", async () => {
    const { worker = "" } = program.endpoints();

    const ca = readFileSync(path.join(program.dataDir, "restate", "worker.pem"));
    const answer = await requestHttp2(worker, { path: "/discover", ca });

    expect(answer).toBe(401);
  });

  it("keeps the sentinels serving across a kill -9, and takes them over again", async () => {
    await untilSentinelsServe();
    const before = pidsOfSentinels();
    program.kill9("main");

    await program.start();

    expect(pidsOfSentinels()).toEqual(before);
    expect((await program.call("Status")).body).toMatchObject({ state: "cancelled" });
  });

  it("stops everything on SIGTERM and continues after a restart", async () => {
    const sentinels = servingSentinels();

    const code = await program.stop();

    expect(code).toBe(0);
    expect(sentinels.filter((serving) => serving !== null && isAlive(serving))).toEqual([]);
    expect(existsSync(path.join(program.dataDir, "endpoints.json"))).toBe(false);
    await program.start();
    const { body } = await program.call("Rollout", { image: image("v5") });
    expect(body).toMatchObject({ state: "completed", succeeded: 3 });
  });

  it("treats a signal that a terminal and npm both forward as one, and stops in order", async () => {
    process.kill(program.endpoints().pid, "SIGINT");

    const code = await program.stop();

    expect(code).toBe(0);
    expect(program.output().trim().endsWith('"msg":"stopped"}')).toBe(true);
  });
});

async function requestHttp2(url: string, of: { path: string; ca: Buffer }): Promise<number> {
  const { connect } = await import("node:http2");
  const session = connect(url, { ca: of.ca });
  const stream = session.request({ ":path": of.path, accept: "application/json" });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  session.destroy();
  return Number(headers[":status"]);
}
