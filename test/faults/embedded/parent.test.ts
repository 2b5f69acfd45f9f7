/** Both servers under a program of their own, which is ended in several ways. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { identifyProcess } from "#kernel/process.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const script = fileURLToPath(new URL("../../support/program/embedded-parent.ts", import.meta.url));

type Line = Record<string, unknown>;

/** Starts the program as the leader of a process group, as a shell does, and waits until it is up. */
async function startParent(dataDir: string) {
  const child = spawn(process.execPath, [script, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const lines: Line[] = [];
  const output = createInterface({ input: child.stdout });
  output.on("line", (line) => lines.push(JSON.parse(line) as Line));
  onTestFinished(() => endAll(child, lines[0]));
  await once(output, "line");
  return { child, lines, up: lines[0] as { postgres: number; restate: number } };
}

function endAll(child: ChildProcess, up: Line | undefined): void {
  for (const pid of [child.pid, up?.["postgres"], up?.["restate"]]) {
    if (typeof pid === "number" && identifyProcess(pid) !== undefined) process.kill(pid, "SIGKILL");
  }
}

function tempDataDir(): string {
  const directory = makeTempDir();
  // Registered first, so that it runs after the processes that use the directory are gone.
  onTestFinished(directory.remove);
  return directory.path;
}

it.each([
  ["SIGTERM to the program", (pid: number) => process.kill(pid, "SIGTERM")],
  ["Ctrl-C, which signals its whole group", (pid: number) => process.kill(-pid, "SIGINT")],
])("%s leaves the servers to an orderly shutdown", async (_name, signal) => {
  const { child, lines, up } = await startParent(tempDataDir());
  const closed = once(child, "close");

  signal(child.pid ?? 0);

  expect(await closed).toEqual([0, null]);
  expect(lines.slice(1)).toEqual([{ step: "used", health: 200 }, { step: "stopped" }]);
  expect(identifyProcess(up.postgres)).toBeUndefined();
  expect(identifyProcess(up.restate)).toBeUndefined();
});

it("a start after a kill -9 of the program ends the servers left running and continues", async () => {
  const dataDir = tempDataDir();
  const first = await startParent(dataDir);
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  expect(identifyProcess(first.up.postgres)).toBeDefined();

  const second = await startParent(dataDir);

  expect(identifyProcess(first.up.postgres)).toBeUndefined();
  expect(identifyProcess(first.up.restate)).toBeUndefined();
  expect(identifyProcess(second.up.postgres)).toBeDefined();
  expect(identifyProcess(second.up.restate)).toBeDefined();
});

it("a start ends a Postgres that was left running before its pid file was written", async () => {
  const dataDir = tempDataDir();
  const first = await startParent(dataDir);
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  rmSync(path.join(dataDir, "postgres.pid.json"));

  const second = await startParent(dataDir);

  expect(identifyProcess(first.up.postgres)).toBeUndefined();
  expect(identifyProcess(second.up.postgres)).toBeDefined();
});

it("the servers end by themselves when the program crashes", async () => {
  const { child, up } = await startParent(tempDataDir());

  child.kill("SIGUSR2");
  await once(child, "exit");

  const left = () => [up.postgres, up.restate].filter((pid) => identifyProcess(pid) !== undefined);
  await waitFor(() => left().length === 0, { withinMs: 20_000, what: "the end of the servers" });
});
