/** The local fleet on a disk that is full: a small one of its own, which takes root to mount. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProcessDriver } from "#fleet/drivers/process.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux";
if (!isRoot) process.stdout.write("a full disk is not tried: only root may mount one\n");

const image = (tag: string) => `registry.example.com/vedette/sentinel:${tag}`;
const sentinelId = "sentinel-01";

/** A disk of 256 KiB. */
function mountDisk(): string {
  const dir = makeTempDir();
  execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", dir.path]);
  onTestFinished(() => {
    execFileSync("/usr/bin/umount", ["--lazy", dir.path]);
    dir.remove();
  });
  return dir.path;
}

/** Returns how to make room again. */
function fill(disk: string): () => void {
  const file = path.join(disk, "ballast");
  expect(() => {
    for (;;) writeFileSync(file, Buffer.alloc(4_096), { flag: "a" });
  }).toThrow("ENOSPC");
  return () => rmSync(file);
}

let fleets = 0;

async function startFleet(disk: string) {
  fleets += 1;
  // Tells its processes from those of other fleets.
  const apiUrl = `http://127.0.0.1:9/${process.pid}-${fleets}`;
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
  const directory = path.join(disk, "sentinels");
  const driver = createProcessDriver({
    ...{ directory, size: 1, basePort: 0, apiUrl, upstreamUrl: apiUrl, rootKey: "root" },
    ...{ trustedProxies: [], readyTimeoutMs: 20_000, log },
  });
  const processes = () => processesWith(`SENTINEL_API_URL=${apiUrl}`);
  onTestFinished(async () => {
    await driver.stop();
    for (const pid of processes()) process.kill(pid, "SIGKILL");
  });
  await driver.start();
  void driver.populate?.();
  const observe = (tag: string) =>
    driver.observe({ sentinelId, image: image(tag), deployId: `deploy-${tag}` });
  await waitFor(async () => (await driver.list())[0]?.healthy, {
    withinMs: 20_000,
    what: "the sentinel to serve",
  });
  return {
    driver,
    observe,
    processes,
    said: () => lines.join(""),
    deploy: (tag: string) =>
      driver.apply({ sentinelId, image: image(tag), deployId: `deploy-${tag}` }),
    state: () => JSON.parse(readFileSync(path.join(directory, `${sentinelId}.json`), "utf8")),
  };
}

function processesWith(variable: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environmentOf(pid).includes(variable))
    .map(Number);
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

describe.skipIf(!isRoot)("the process driver on a full disk", () => {
  it("ends a sentinel with itself that began to serve when nothing could be written", async () => {
    const disk = mountDisk();
    const { driver, deploy, processes, observe, state } = await startFleet(disk);
    await deploy("v2");
    await waitFor(() => state().candidate !== null, { withinMs: 20_000, what: "a candidate" });
    fill(disk);
    await waitFor(async () => (await observe("v2")).status !== "progressing", {
      withinMs: 20_000,
      what: "the end of the deploy",
    });

    await driver.stop();

    expect(processes()).toEqual([]);
  });

  it("knows that such a sentinel serves, and stores it once there is room", async () => {
    const disk = mountDisk();
    const { deploy, processes, observe, state } = await startFleet(disk);
    await deploy("v2");
    await waitFor(() => state().candidate !== null, { withinMs: 20_000, what: "a candidate" });
    const makeRoom = fill(disk);
    await waitFor(async () => (await observe("v2")).status === "ready", {
      withinMs: 20_000,
      what: "v2 to serve",
    });
    const served = processes();

    makeRoom();

    await waitFor(() => state().runningImage === image("v2"), { withinMs: 5_000, what: "v2" });
    expect(state().candidate).toBeNull();
    expect(served).toEqual([state().serving.pid]);
  });

  it("starts no sentinel whose record cannot be written first, and says so", async () => {
    const disk = mountDisk();
    const { processes, said, driver } = await startFleet(disk);
    const makeRoom = fill(disk);
    for (const pid of processes()) process.kill(pid, "SIGKILL");

    await waitFor(() => said().includes("ENOSPC"), { withinMs: 10_000, what: "a line of the log" });
    expect(processes()).toEqual([]);
    makeRoom();

    await waitFor(async () => (await driver.list())[0]?.healthy, {
      withinMs: 40_000,
      what: "the sentinel to serve again",
    });
  });

  it("refuses an order that it cannot store, and carries it out once there is room", async () => {
    const disk = mountDisk();
    const { deploy, observe } = await startFleet(disk);
    const makeRoom = fill(disk);

    await expect(deploy("v2")).rejects.toThrow("ENOSPC");
    makeRoom();
    await deploy("v2");

    await waitFor(async () => (await observe("v2")).status === "ready", {
      withinMs: 20_000,
      what: "v2 to serve",
    });
  });
});
