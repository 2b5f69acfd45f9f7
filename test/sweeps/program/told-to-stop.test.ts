/** A program that gets SIGTERM before it is ready. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { entry } from "../../support/program/command.ts";
import { freePorts } from "../../support/program/program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

type Settings = Record<string, string>;

function start(settings: Settings = {}) {
  const dir = makeTempDir();
  const child = spawn(process.execPath, [entry, "start"], {
    env: {
      PATH: process.env["PATH"],
      ...freePorts,
      VEDETTE_FLEET__PROCESS__SIZE: "1",
      VEDETTE_DATA_DIR: dir.path,
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
    for (const pid of processesOf(dir.path)) process.kill(pid, "SIGKILL");
    await waitFor(() => processesOf(dir.path).length === 0, {
      withinMs: 10_000,
      what: "the end of what was left",
    });
    dir.remove();
  });
  return { child, closed, dataDir: dir.path, output: () => output };
}

/** Every process that works in the directory, writes to it, or has it among its arguments. */
function processesOf(directory: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => tracesOf(pid).some((trace) => trace.includes(directory)))
    .map(Number);
}

function tracesOf(pid: string): string[] {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    // A sentinel is recognized by its log file.
    return [command, readlinkSync(`/proc/${pid}/cwd`), readlinkSync(`/proc/${pid}/fd/1`)];
  } catch {
    return [];
  }
}

const reachesStep = [
  [
    "sets up Postgres",
    (dir: string) => readdirSync(dir).some((name) => /^postgres\.new-\w+$/.test(name)),
  ],
  ["starts Postgres", (dir: string) => existsSync(path.join(dir, "postgres.pid.json"))],
  ["starts Restate", (dir: string) => existsSync(path.join(dir, "restate.pid.json"))],
] as const;

async function expectOrderlyEnd(program: ReturnType<typeof start>): Promise<void> {
  program.child.kill("SIGTERM");
  expect(await program.closed).toEqual([0, null]);
  expect(program.output().trim()).toMatch(/"msg":"stopping".*"msg":"stopped"\}$/s);
  expect(processesOf(program.dataDir)).toEqual([]);
  expect(existsSync(path.join(program.dataDir, "vedette.lock"))).toBe(false);
}

it.each(reachesStep)(
  "ends in order while it %s, and leaves no process",
  async (step, isReached) => {
    const program = start();
    await waitFor(() => isReached(program.dataDir), { withinMs: 60_000, what: `that it ${step}` });

    await expectOrderlyEnd(program);
    expect(program.output()).not.toContain("vedette is ready");
  },
);

it("ends in order while its sentinels start, and leaves none of them", async () => {
  const program = start({ VEDETTE_FLEET__PROCESS__SIZE: "6" });
  const log = path.join(program.dataDir, "sentinels", "sentinel-01.log");
  await waitFor(() => existsSync(log), { withinMs: 60_000, what: "that a sentinel starts" });

  await expectOrderlyEnd(program);
});

it("ends while it waits for a database that never answers", async () => {
  let hasCalled = false;
  const silent = createServer((socket) => {
    hasCalled = true;
    socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const program = start({ DATABASE_URL: `postgres://vedette:x@127.0.0.1:${port}/vedette` });
  await waitFor(() => hasCalled, { withinMs: 60_000, what: "the call" });

  program.child.kill("SIGTERM");

  expect(await program.closed).toEqual([0, null]);
  expect(existsSync(path.join(program.dataDir, "vedette.lock"))).toBe(false);
});

it("ends while it watches whether another container uses its data directory", async () => {
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  const elsewhere = { pid: 1, startedAt: "1", bootId: "another", pidNamespace: "another" };
  const lock = path.join(dir.path, "vedette.lock");
  writeFileSync(lock, JSON.stringify(elsewhere));
  const program = start({ VEDETTE_DATA_DIR: dir.path });
  await waitFor(() => program.output().includes("another container"), {
    withinMs: 60_000,
    what: "the line that says so",
  });

  program.child.kill("SIGTERM");

  expect(await program.closed).toEqual([0, null]);
  expect(JSON.parse(readFileSync(lock, "utf8"))).toEqual(elsewhere);
});
