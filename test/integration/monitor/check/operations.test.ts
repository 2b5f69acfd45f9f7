/** What operators do about checks from the command line, against a whole program. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { entry, runVedette } from "../../../support/program/command.ts";
import { type Program, startProgram } from "../../../support/program/program.ts";
import { waitFor } from "../../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(async () => {
  await program?.dispose();
});

const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

async function readCheck(id: string) {
  const { stdout } = await vedette("checks", "list", "--json");
  const { checks } = JSON.parse(stdout) as { checks: { id: string; status: string }[] };
  return checks.find((check) => check.id === id);
}

describe("checks run", () => {
  it("runs a check of our own API now, and shows where the time went", async () => {
    const { code, stdout } = await vedette("checks", "run", "liveness", "--json");

    const run = JSON.parse(stdout);
    expect(code).toBe(0);
    // Its grade is that of the time that it took, on a machine that may be busy.
    expect(run).toMatchObject({ check: "liveness", location: "local", status: 200 });
    expect(run.first_byte_ms).toBeGreaterThan(0);
    expect((await vedette("checks", "run", "liveness")).stdout).toMatch(
      /^liveness at local: \w+ \(/,
    );
  });

  it("has our own API's root key, and names the settings that are missing", async () => {
    const limit = await vedette("checks", "run", "rate-limit", "--json");
    const verify = await vedette("checks", "run", "verify-key");

    expect(JSON.parse(limit.stdout)).toMatchObject({ check: "rate-limit", status: 200 });
    expect(verify.code).toBe(1);
    expect(verify.stderr).toContain("verify-key is off: set monitor.key");
  });
});

describe("mute, maintenance and acknowledge", () => {
  it("change the state of a check, and print it", async () => {
    const muted = await vedette("checks", "mute", "liveness");
    const unmuted = await vedette("checks", "unmute", "liveness");
    const window = ["--for", "30m", "--from", "2099-01-31T02:00Z", "--reason", "upgrade"];
    const planned = await vedette("checks", "maintenance", "liveness", ...window);
    const dropped = await vedette("checks", "end-maintenance", "liveness");

    expect(muted.stdout).toContain(
      "liveness: muted until it is unmuted, by the ingress token (no operator)",
    );
    expect(unmuted.stdout).toContain("liveness: not muted");
    expect(planned.stdout).toContain(
      "2099-01-31 02:00:00 UTC to 2099-01-31 02:30:00 UTC: upgrade, by the ingress token (no operator)",
    );
    expect(dropped.stdout).not.toContain("upgrade");
  });

  it("refuse invalid input", async () => {
    const acknowledged = await vedette("checks", "acknowledge", "liveness", "--by", "ada");
    const unknown = await vedette("checks", "mute", "livenes");

    expect([acknowledged.code, unknown.code]).toEqual([1, 1]);
    expect(acknowledged.stderr).toContain("no alert of this check is open");
    expect(unknown.stderr).toContain("livenes");
  });
});

async function register(): Promise<string> {
  const { stdout } = await vedette("heartbeats", "register", "workflows-count-keys", "--json");
  return (JSON.parse(stdout) as { url: string }).url;
}

const untilStatus = (status: string) =>
  waitFor(async () => (await readCheck("workflows-count-keys"))?.status === status, {
    // An object that is not told of a ping looks for it after a minute.
    withinMs: 30_000,
    what: `the heartbeat to be ${status}`,
  });

describe("a ping URL", () => {
  it("is made once, shows how the job fares, and is void with the next one", async () => {
    const url = await register();
    const ping = await fetch(url, { method: "POST", body: "the job's output" });
    await untilStatus("ok");
    await fetch(`${url}/1`);
    await untilStatus("failed");
    const next = await register();
    const [voided, valid] = await Promise.all([fetch(url), fetch(next)]);

    expect(await ping.text()).toBe("ok\n");
    expect([voided.status, valid.status]).toEqual([404, 200]);
    await untilStatus("ok");
  });

  it("reaches no log line", async () => {
    const url = await register();
    await fetch(url);
    await fetch(`${url}x`);
    await fetch(url, { method: "DELETE" });

    expect(program.output()).not.toContain(new URL(url).pathname.slice(1));
  });

  it("is good after everything was killed", async () => {
    const url = await register();
    await fetch(url);
    for (const part of ["main", "restate", "postgres"] as const) program.kill9(part);
    await program.start();

    const port = new URL(program.endpoints().control).port;
    const answer = await fetch(url.replace(/:\d+\//, `:${port}/`));

    expect(answer.status).toBe(200);
    expect((await readCheck("workflows-count-keys"))?.status).toBe("ok");
  });
});

function startRunner(token: string, location = "fra") {
  const { control } = program.endpoints();
  const args = ["monitor-runner", "--location", location, "--control", control];
  const child = spawn(process.execPath, [entry, ...args], {
    env: { PATH: process.env["PATH"], VEDETTE_RUNNER_TOKEN: token, VEDETTE_LOG__FORMAT: "json" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said.text += chunk;
    });
  }
  return { child, said };
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

async function addRunner(location: string): Promise<string> {
  const { stdout } = await vedette("runners", "add", location, "--json");
  return (JSON.parse(stdout) as { token: string }).token;
}

describe("monitor-runner", () => {
  it("is listed as seen while it runs, skips checks without secrets, and stops on a signal", async () => {
    const token = await addRunner("fra");
    const { child, said } = startRunner(token);
    await waitFor(() => said.text.includes("runner started"), {
      withinMs: 60_000,
      what: "the runner to start",
    });

    const { stdout } = await vedette("runners", "list", "--json");
    const ended = endOf(child);
    child.kill("SIGTERM");

    expect(JSON.parse(stdout).runners).toMatchObject([
      { location: "fra", seen_at: expect.stringMatching(/^\d{4}-/) },
    ]);
    expect(said.text).toContain("checks are left out: settings are missing here");
    expect(said.text).not.toContain(token);
    expect(await ended).toBe(0);
  });

  it("does not start with the token of another location, or an unknown one", async () => {
    const token = await addRunner("lon");
    const other = startRunner(token, "fra");
    const nobody = startRunner("x".repeat(43), "fra");

    expect(await Promise.all([endOf(other.child), endOf(nobody.child)])).toEqual([1, 1]);
    expect(other.said.text).toContain("the token is that of lon and not of fra");
    expect(nobody.said.text).toContain("refused the token");
  });

  it("that was removed is not on the list", async () => {
    await addRunner("ams");

    const removed = await vedette("runners", "remove", "ams");
    const again = await vedette("runners", "remove", "ams");

    expect(removed.stdout).toContain("ams is removed");
    expect(again.stderr).toContain("there is no runner at ams");
  });
});
