/** `vedette checks`, the public pages and the metrics of a whole program. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { aCheckResult } from "../../../support/monitor/check-builders.ts";
import { anApiRow, saveRecords, saveRow } from "../../../support/monitor/check-rows.ts";
import { childLimitMs, entry, runVedette } from "../../../support/program/command.ts";
import { type Program, startProgram } from "../../../support/program/program.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const minute = 60_000;

let program: Program;
let database: Database;
/** Two hours ago, on a full minute. */
let startMs: number;

/** The place is one that the program itself does not run at. */
beforeAll(async () => {
  program = await startProgram();
  const log = createLog({ level: "silent", format: "json" });
  database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  startMs = Math.floor(Date.now() / minute) * minute - 120 * minute;
  const results = Array.from({ length: 100 }, (_, i) =>
    aCheckResult({
      location: "fra",
      scheduledAtMs: startMs + i * minute,
      // The 11th and 12th run take 3 s, the others 1 to 100 ms.
      durationMs: i === 10 || i === 11 ? 3_000 : i + 1,
      ...((i === 10 || i === 11) && {
        grade: "degraded",
        cause: "slow",
        reason: "took 3 s, degraded above 500 ms",
      }),
    }),
  );
  await saveRecords(database, { results });
});

afterAll(async () => {
  await database.end();
  await program.dispose();
});

const vedette = (...args: string[]) =>
  runVedette(["checks", ...args], { VEDETTE_DATA_DIR: program.dataDir });

const anAlert = (episode: number) => ({
  episode,
  openedAtMs: startMs,
  reason: "fra: connection refused",
  locations: ["fra"],
  acknowledged: null,
  rollout: null,
});

describe("checks list", () => {
  it("shows the state, the last duration and the open alert of every check", async () => {
    const alert = anAlert(3);
    const fra = {
      grade: "failed",
      reportedAtMs: startMs,
      durationMs: 1_234,
      reason: null,
    } as const;
    const locations = { fra: { ...fra, tlsDaysLeft: null, isSilent: false } };
    const open = { status: "failed", decidedRunMs: Date.now(), locations, alert } as const;
    await saveRow(database, "liveness", anApiRow(open));

    // The list of the program's start is served for two seconds.
    let stdout = "";
    const isNew = async () => {
      ({ stdout } = await vedette("list"));
      return stdout.includes("#3 since");
    };
    await waitFor(isNew, { withinMs: 10_000, what: "a list with the alert" });

    expect(stdout).toMatch(/liveness +failed .* 1\.23 s .*#3 since .*fra: connection refused/);
    expect(stdout).toContain("certificate-workflow-staging");
  });

  it("prints the reader's answer with --json", async () => {
    const { stdout } = await vedette("list", "--json");

    const { checks } = JSON.parse(stdout) as { checks: { id: string }[] };
    expect(checks).toHaveLength(10);
  });
});

describe("checks history", () => {
  it("has exact percentiles of the span", async () => {
    const { stdout } = await vedette("history", "verify-key", "--since", "3h", "--json");

    const { summary } = JSON.parse(stdout);
    const fra = summary.locations.find(({ location }: { location: string }) => location === "fra");
    expect(fra).toMatchObject({ results: 100, degraded: 2, max_ms: 3_000, p50_ms: 52.5 });
  });

  it("shows the requested number of results", async () => {
    const only = ["--location", "fra", "--grade", "degraded", "--limit", "1"];
    const { stdout, code } = await vedette("history", "verify-key", "--since", "3h", ...only);

    expect(code).toBe(0);
    expect(stdout.match(/took 3 s, degraded above 500 ms/g)).toHaveLength(1);
    expect(stdout).toMatch(/fra +100 +2 +0 /);
  });

  it("lists the times in which the check was suppressed among its alerts", async () => {
    const reason = "fra: HTTP 503";
    const span = { by: "liveness", sinceMs: startMs + 90 * minute, untilMs: startMs + 91 * minute };
    await saveRecords(database, { suppressions: [{ checkId: "rate-limit", ...span, reason }] });

    const { stdout } = await vedette("history", "rate-limit");
    const { stdout: json } = await vedette("history", "rate-limit", "--json");

    expect(stdout).toMatch(/suppressed .* 60 s +to nobody +by liveness: fra: HTTP 503/);
    const [listed] = JSON.parse(json).suppressions;
    expect(listed).toMatchObject({ check_id: "rate-limit", suppressed_by: "liveness", reason });
  });

  it.each([
    ["checks history", ["history", "verify-kye"]],
    ["checks watch", ["watch", "verify-kye"]],
    ["checks run", ["run", "verify-kye"]],
    ["checks mute", ["mute", "verify-kye"]],
  ])("%s names the check that was meant when there is no such check", async (_, words) => {
    const { stderr, code } = await vedette(...words);

    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no (?:API )?check verify-kye: did you mean verify-key\?/);
  });
});

describe("checks replay", () => {
  it("shows what would have paged", async () => {
    const asked = ["--failed-above", "2s", "--since", "3h"];
    const { stdout, code } = await vedette("replay", "verify-key", ...asked, "--json");

    expect(code).toBe(0);
    const opened_at = new Date(startMs + 10 * minute).toISOString();
    const resolved_at = new Date(startMs + 12 * minute).toISOString();
    const answer = JSON.parse(stdout);
    expect(answer.as_asked.episodes).toContainEqual(
      expect.objectContaining({ opened_at, resolved_at }),
    );
    expect(answer.as_defined.episodes).not.toContainEqual(expect.objectContaining({ opened_at }));
  });

  it("prints it as text", async () => {
    const { stdout } = await vedette("replay", "verify-key", "--failed-above", "2s");

    expect(stdout).toContain("would have paged");
    expect(stdout).toContain("fra: took 3 s, failed above 2 s");
  });

  it("refuses a heartbeat", async () => {
    const { stderr, code } = await vedette("replay", "quota-check");

    expect(code).toBe(1);
    expect(stderr).toContain("quota-check is a heartbeat: only API checks can be replayed");
  });
});

describe("checks watch", () => {
  it("prints a line for a change, and ends with Ctrl-C", async () => {
    const decidedRunMs = Date.now();
    await saveRow(database, "rate-limit", anApiRow({ decidedRunMs }));
    // The program may answer with a list that it has read before.
    const isShown = async () => /rate-limit +ok/.test((await vedette("list")).stdout);
    await waitFor(isShown, { withinMs: 20_000, what: "the state in the list" });
    const child = spawn(process.execPath, [entry, "checks", "watch", "rate-limit"], {
      env: { PATH: process.env["PATH"], VEDETTE_DATA_DIR: program.dataDir },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: childLimitMs,
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    await waitFor(() => /rate-limit +ok/.test(said), { withinMs: 20_000, what: "the table" });

    const alert = anAlert(1);
    await saveRow(database, "rate-limit", anApiRow({ decidedRunMs, status: "failed", alert }));
    const line = /rate-limit: ok -> failed \(alert opened: fra: connection refused\)/;
    await waitFor(() => line.test(said), { withinMs: 20_000, what: "the line of the change" });
    child.kill("SIGINT");

    expect((await once(child, "exit"))[0]).toBe(130);
    expect(said).not.toContain("liveness");
  });
});

describe("for everyone", () => {
  it("status.json has the status of all checks, without reasons", async () => {
    const answer = await fetch(`${program.endpoints().control}/status.json`);

    const text = await answer.text();
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(JSON.parse(text).checks).toHaveLength(10);
    expect(text).not.toContain("connection refused");
  });

  it("every check has a badge", async () => {
    const answer = await fetch(`${program.endpoints().control}/badges/verify-key.svg`);

    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain("image/svg+xml");
    expect(await answer.text()).toContain("<title>Verify key: ");
  });

  it("an unknown check has no badge", async () => {
    const answer = await fetch(`${program.endpoints().control}/badges/no-such-check.svg`);

    expect(answer.status).toBe(404);
  });
});

it("metrics have one state of each check", async () => {
  const answer = await fetch(`${program.endpoints().metrics}/metrics`);

  const lines = (await answer.text()).split("\n");
  const current = lines.filter((line) => /^vedette_check_state\{.*\} 1$/.test(line));
  expect(current).toHaveLength(10);
});

it("lint needs no running program", async () => {
  const { stdout, code } = await runVedette(["checks", "lint"], {
    VEDETTE_DATA_DIR: path.join(program.dataDir, "none"),
  });

  expect(stdout).toBe("3 API checks, 7 heartbeats, 2 channels: no faults\n");
  expect(code).toBe(0);
});

describe("checks export", () => {
  const exportTo = (program: string, out: string, ...args: string[]) =>
    vedette("export", program, "--out", out, ...args);
  const baseUrl = ["--base-url", "https://api.example.com"];

  it.each([
    ["checkly", "checks/verify-key.check.ts", baseUrl],
    ["prometheus", "rules/vedette.yml", []],
  ])("%s writes its files, and says so", async (name, file, options) => {
    const out = path.join(tempDir(), "out");

    const { stdout, code } = await exportTo(name, out, ...options, "--json");

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      directory: out,
      files: expect.arrayContaining(["README.md", file]),
    });
    expect(existsSync(path.join(out, file))).toBe(true);
  });

  it("writes nothing without an address of the API", async () => {
    const out = path.join(tempDir(), "out");

    const { stderr, code } = await exportTo("checkly", out);

    expect(code).toBe(1);
    expect(stderr).toContain("where is the API? Name it with --base-url");
    expect(existsSync(out)).toBe(false);
  });

  it("refuses an address of this machine for the hosted monitor", async () => {
    const out = path.join(tempDir(), "out");

    const { stderr, code } = await exportTo("checkly", out, "--base-url", "http://127.0.0.1:7070");

    expect(code).toBe(1);
    expect(stderr).toContain("is this machine; the hosted monitor needs a public --base-url");
  });
});
