import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { endLeftover, type ServerProgram, superviseServer } from "#embedded/supervised.ts";
import { createLog } from "#kernel/log.ts";
import { identifyProcess } from "#kernel/process.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** A server of one line of shell; ready by default as soon as it runs. */
function shellProgram(script: string, changes: Partial<ServerProgram> = {}): ServerProgram {
  return {
    name: "dummy",
    pidFile: path.join(tempDir(), "dummy.pid.json"),
    launch: () =>
      spawn("sh", ["-c", script], { stdio: ["ignore", "ignore", "pipe"], detached: true }),
    isReady: async () => true,
    readyWithinMs: 5_000,
    stopSignal: "SIGTERM",
    stopWithinMs: 2_000,
    log,
    ...changes,
  };
}

async function supervise(program: ServerProgram) {
  const server = await superviseServer(program);
  onTestFinished(() => server.stop());
  return server;
}

it("restarts the server when it exits unexpectedly", async () => {
  const server = await supervise(shellProgram("exec sleep 60"));
  const first = server.pid();

  process.kill(first, "SIGKILL");

  await waitFor(() => server.pid() !== first, { withinMs: 5_000, what: "the restart" });
  expect(identifyProcess(server.pid())).toBeDefined();
});

it("does not restart a server that was stopped", async () => {
  const server = await superviseServer(shellProgram("exec sleep 60"));

  await server.stop();

  expect(identifyProcess(server.pid())).toBeUndefined();
});

it("kills a server that ignores the stop signal", async () => {
  const script = "trap '' TERM; while :; do sleep 0.05; done";
  const server = await superviseServer(shellProgram(script, { stopWithinMs: 100 }));

  await server.stop();

  expect(identifyProcess(server.pid())).toBeUndefined();
});

it("stops in the middle of a restart and leaves no process", async () => {
  let starts = 0;
  const pids: number[] = [];
  const dummy = shellProgram("exec sleep 60");
  const server = await superviseServer({
    ...dummy,
    launch: () => {
      const child = dummy.launch();
      pids.push(child.pid ?? 0);
      return child;
    },
    // The first start is ready at once, the second one never.
    isReady: async () => starts++ === 0,
  });
  process.kill(server.pid(), "SIGKILL");
  await waitFor(() => pids.length === 2, { withinMs: 5_000, what: "the second start" });

  await server.stop();

  expect(pids.map(identifyProcess)).toEqual([undefined, undefined]);
});

it("stops while it waits for the next attempt of a restart", async () => {
  const marker = path.join(tempDir(), "broken");
  const program = shellProgram(`test -e ${marker} && exit 1; exec sleep 60`, {
    // Not ready at once, so that the test sees the failed start end.
    isReady: async () => !existsSync(marker),
  });
  const server = await superviseServer(program);
  writeFileSync(marker, "");
  process.kill(server.pid(), "SIGKILL");
  await waitFor(() => identifyProcess(server.pid()) === undefined, {
    withinMs: 5_000,
    what: "the end",
  });

  await server.stop();

  expect(existsSync(program.pidFile)).toBe(false);
});

it("says why a server did not start, with its last output", async () => {
  const program = shellProgram("echo the disk is full >&2; exit 3", {
    isReady: async () => false,
  });

  const start = superviseServer(program);

  await expect(start).rejects.toThrow(
    "dummy did not start: it exited with code 3; its last output: the disk is full",
  );
});

it("does not take the answer of another server on its port for a server that has ended", async () => {
  let child: ReturnType<ServerProgram["launch"]> | undefined;
  const dummy = shellProgram("echo address in use >&2; exit 1");
  const program: ServerProgram = {
    ...dummy,
    launch: () => {
      child = dummy.launch();
      return child;
    },
    isReady: async () => {
      await waitFor(() => child?.exitCode === 1, { withinMs: 5_000, what: "the end" });
      return true;
    },
  };

  const start = superviseServer(program);

  await expect(start).rejects.toThrow("exited with code 1; its last output: address in use");
});

it("says why a program could not be run", async () => {
  const program = shellProgram("", {
    launch: () => spawn("/nowhere/server", { stdio: ["ignore", "ignore", "pipe"] }),
  });

  const start = superviseServer(program);

  await expect(start).rejects.toThrow("dummy did not start: spawn /nowhere/server ENOENT");
});

it("gives up on a server that never answers, and ends it", async () => {
  let pid = 0;
  const dummy = shellProgram("exec sleep 60");
  const program: ServerProgram = {
    ...dummy,
    launch: () => {
      const child = dummy.launch();
      pid = child.pid ?? 0;
      return child;
    },
    isReady: async () => false,
    readyWithinMs: 200,
  };

  const start = superviseServer(program);

  await expect(start).rejects.toThrow("dummy did not start: it did not answer within 200 ms");
  expect(identifyProcess(pid)).toBeUndefined();
});

it("retries a first start when the cause is transient", async () => {
  const marker = path.join(tempDir(), "tried");
  const script = `test -e ${marker} && exec sleep 60; touch ${marker}; echo held >&2; exit 1`;
  const program = shellProgram(script, {
    isTransient: (words) => words.includes("held"),
    // Called for the second process only: the first one has ended by then.
    isReady: async () => existsSync(`${marker}.ready`),
    launch: () => {
      if (existsSync(marker)) writeFileSync(`${marker}.ready`, "");
      return spawn("sh", ["-c", script], { stdio: ["ignore", "ignore", "pipe"], detached: true });
    },
  });

  const server = await supervise(program);

  expect(identifyProcess(server.pid())).toBeDefined();
});

it("ends the process that an earlier run left behind", async () => {
  const program = shellProgram("");
  const leftover = spawn("sleep", ["60"], { stdio: "ignore" });
  const identity = identifyProcess(leftover.pid ?? 0);
  writeFileSync(program.pidFile, JSON.stringify(identity));

  await endLeftover(program);

  expect(identifyProcess(leftover.pid ?? 0)).toBeUndefined();
});

it("does not end another program that has the pid of an earlier run", async () => {
  const program = shellProgram("");
  const other = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void other.kill("SIGKILL"));
  writeFileSync(program.pidFile, JSON.stringify({ pid: other.pid, startedAt: "1" }));

  await endLeftover(program);

  expect(identifyProcess(other.pid ?? 0)).toBeDefined();
});
