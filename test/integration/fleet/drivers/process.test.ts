/** The local fleet's own promises: real processes, no outage, and they outlive their driver. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createProcessDriver } from "#fleet/drivers/process.ts";
import { createLog } from "#kernel/log.ts";
import { signalProcess } from "#kernel/process.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const image = (tag: string) => `registry.example.com/vedette/sentinel:${tag}`;
const log = createLog({ level: "silent", format: "json" });

function createFleet(directory: string, apiUrl = "http://127.0.0.1:9", rootKey = "root") {
  return createProcessDriver({
    directory,
    size: 1,
    basePort: 0,
    apiUrl,
    rootKey,
    upstreamUrl: apiUrl,
    trustedProxies: [],
    readyTimeoutMs: 20_000,
    log,
  });
}

/** Resolves once its sentinel serves. */
async function startFleet(...[directory, ...settings]: Parameters<typeof createFleet>) {
  const driver = createFleet(directory, ...settings);
  await driver.start();
  void driver.populate?.();
  await waitFor(() => serves(directory), { withinMs: 20_000, what: "the sentinel to serve" });
  return driver;
}

function useDirectory(): string {
  const dir = makeTempDir();
  onTestFinished(() => dir.remove());
  return path.join(dir.path, "sentinels");
}

function stateIn(directory: string) {
  const text = readFileSync(path.join(directory, "sentinel-01.json"), "utf8");
  return JSON.parse(text) as {
    publicPort: number;
    image: string;
    runningImage: string;
    candidate: unknown;
    serving: { pid: number; startedAt: string };
  };
}

async function readLog(driver: Driver, deployId?: string): Promise<string> {
  const call = { lines: 100, signal: AbortSignal.timeout(5_000) };
  const tail = await driver.readLog?.({ sentinelId: "sentinel-01", deployId }, call);
  return tail?.absent ?? tail?.text ?? "";
}

async function deploy(driver: Driver, tag: string) {
  const order = { sentinelId: "sentinel-01", image: image(tag), deployId: `deploy-${tag}` };
  await driver.apply(order);
  return waitFor(
    async () => {
      const seen = await driver.observe(order);
      return seen.status !== "progressing" && seen;
    },
    { withinMs: 20_000, what: `the deploy of ${tag}` },
  );
}

/** Until another process serves. */
async function killServing(directory: string): Promise<void> {
  const dead = stateIn(directory).serving;
  signalProcess(dead, "SIGKILL");
  await waitFor(() => stateIn(directory).serving.pid !== dead.pid, {
    withinMs: 10_000,
    what: "another process",
  });
}

const healthOf = async (directory: string) => {
  const answer = await fetch(`http://127.0.0.1:${stateIn(directory).publicPort}/.sentinel/health`);
  return (await answer.json()) as { id: string; image: string };
};

const serves = (directory: string) =>
  healthOf(directory).then(
    () => true,
    () => false,
  );

/** A fleet whose sentinel has served, and been stopped with the driver before it. */
async function createAgain() {
  const directory = useDirectory();
  const before = await startFleet(directory);
  await before.stop();
  const driver = createFleet(directory);
  onTestFinished(() => driver.stop());
  return { directory, driver };
}

describe("the process driver", () => {
  it("says with a failure that the sentinel still serves, and with which image", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    const { runningImage } = stateIn(directory);

    const seen = await deploy(driver, "v2-crash");

    expect(seen).toMatchObject({ status: "failed", healthy: true, running_image: runningImage });
  });

  it("reads what a sentinel has counted, from 0 after its replacement", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    const signal = AbortSignal.timeout(20_000);
    const counted = async () => (await driver.readCounters?.(signal))?.get("sentinel-01");

    // Without a key: an answer all the same, and no error of the sentinel.
    await (await fetch(`http://127.0.0.1:${stateIn(directory).publicPort}/`)).text();

    const before = await waitFor(
      async () => {
        const now = await counted();
        return now?.requests === 1 && now;
      },
      { withinMs: 5_000, what: "the request to be counted" },
    );
    expect(before.errors).toBe(0);
    expect(Math.max(...Object.values(before.latency ?? {}))).toBe(1);
    await deploy(driver, "v2");
    const after = await counted();
    expect(after?.requests).toBe(0);
    expect(after?.startedAt).toBeGreaterThan(before.startedAt ?? Number.NaN);
  });

  it("has started before its sentinels serve, and lists them then as they are", async () => {
    const driver = createFleet(useDirectory());
    onTestFinished(() => driver.stop());

    await driver.start();

    expect(await driver.list()).toMatchObject([{ id: "sentinel-01", healthy: false }]);
    await driver.populate?.();
    expect(await driver.list()).toMatchObject([{ id: "sentinel-01", healthy: true }]);
  });

  it("lists what served before a restart once it serves again, and not as unhealthy before", async () => {
    const { directory, driver } = await createAgain();
    await driver.start();

    const listed = driver.list();
    await driver.populate?.();

    expect(await listed).toMatchObject([{ id: "sentinel-01", healthy: true }]);
    expect(await serves(directory)).toBe(true);
  });

  it("lists what cannot serve again after a restart as unhealthy", async () => {
    const { directory, driver } = await createAgain();
    const taken = createServer().listen(stateIn(directory).publicPort, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await once(taken, "listening");
    await driver.start();

    await driver.populate?.();

    expect(await driver.list()).toMatchObject([{ id: "sentinel-01", healthy: false }]);
  });

  it("ends a list that waits when its caller does", async () => {
    const { driver } = await createAgain();
    await driver.start();

    const listed = driver.list(AbortSignal.abort(new Error("no longer wanted")));

    await expect(listed).rejects.toThrow("no longer wanted");
  });

  it("serves on the same port with another process after a replacement", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    const before = stateIn(directory);

    await deploy(driver, "v2");

    const after = stateIn(directory);
    expect(after.publicPort).toBe(before.publicPort);
    expect(after.serving.pid).not.toBe(before.serving.pid);
    expect(await healthOf(directory)).toMatchObject({ id: "sentinel-01", image: image("v2") });
  });

  it("fails no request while its image is replaced again and again", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    const failures: unknown[] = [];
    let served = 0;
    let isOver = false;
    const caller = (async () => {
      while (!isOver) {
        await healthOf(directory).then(
          () => served++,
          (error: unknown) => failures.push(error),
        );
      }
    })();

    for (const tag of ["v2", "v3", "v4-crash", "v5"]) await deploy(driver, tag);
    isOver = true;
    await caller;

    expect(failures).toEqual([]);
    expect(served).toBeGreaterThan(100);
  });

  it("gives up an image that stays sick, long before the deadline", async () => {
    const driver = await startFleet(useDirectory());
    onTestFinished(() => driver.stop());

    expect(await deploy(driver, "v2-sick")).toMatchObject({
      status: "failed",
      reason: "probe_failing: health answers 500",
      running_image: image("v1"),
    });
  });

  it("waits for an image that is slow to start", async () => {
    const driver = await startFleet(useDirectory());
    onTestFinished(() => driver.stop());

    expect(await deploy(driver, "v2-slow")).toMatchObject({ status: "ready" });
  });

  it("starts a sentinel that died again, with the image that it ran", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    await deploy(driver, "v2-crash");

    await killServing(directory);

    expect(await healthOf(directory)).toMatchObject({ image: image("v1") });
  });

  it("keeps what a process that died has logged, and what its deploy logged that failed before", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    await deploy(driver, "v2-crash");
    await killServing(directory);

    const running = await readLog(driver);
    const failed = await readLog(driver, "deploy-v2-crash");

    expect(running.match(/starts with .*v1\n/g)).toHaveLength(2);
    expect(failed).toMatch(
      /^sentinel sentinel-01 starts with .*v2-crash\nerror: this image crashes/,
    );
  });

  it("has the log of a deploy that failed while the driver before it ran", async () => {
    const directory = useDirectory();
    const before = await startFleet(directory);
    await deploy(before, "v2-crash");
    await before.stop();

    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());

    expect(await readLog(driver, "deploy-v2-crash")).toContain("error: this image crashes");
  });

  it("keeps an order on disk that comes while another is carried out", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory);
    onTestFinished(() => driver.stop());
    const order = (tag: string) =>
      driver.apply({ sentinelId: "sentinel-01", image: image(tag), deployId: tag });
    await order("v2-slow");
    await waitFor(() => stateIn(directory).candidate !== null, {
      withinMs: 20_000,
      what: "a process for the first order",
    });

    await order("v3");

    const kept = new Set<string>();
    while (stateIn(directory).runningImage !== image("v3")) {
      kept.add(stateIn(directory).image);
      await nextTurn();
    }
    expect([...kept]).toEqual([image("v3")]);
  });

  it("finishes a replacement that a driver before it has begun", async () => {
    const directory = useDirectory();
    const first = await startFleet(directory);
    // Its own stop would end the processes: what a crash leaves is a driver that just says no more.
    const order = { sentinelId: "sentinel-01", image: image("v2"), deployId: "d1" };
    await first.apply(order);

    const second = await startFleet(directory);
    onTestFinished(async () => {
      await first.stop();
      await second.stop();
    });

    const isReady = async () => (await second.observe(order)).status === "ready";
    await waitFor(isReady, { withinMs: 20_000, what: "the replacement" });
    expect(await second.observe(order)).toMatchObject({ isOrdered: true });
  });

  it("lets no process go on that a driver before it gave another root key", async () => {
    const directory = useDirectory();
    const first = await startFleet(directory);
    const before = stateIn(directory).serving;

    const second = await startFleet(directory, undefined, "another-root");
    onTestFinished(async () => {
      await first.stop();
      await second.stop();
    });

    await waitFor(() => stateIn(directory).serving.pid !== before.pid, {
      withinMs: 20_000,
      what: "another process",
    });
    expect(await healthOf(directory)).toMatchObject({ image: image("v1") });
  });

  it("keeps a process that a driver before it gave the same root key", async () => {
    const directory = useDirectory();
    const first = await startFleet(directory);
    const before = stateIn(directory).serving;

    const second = await startFleet(directory);
    onTestFinished(async () => {
      await first.stop();
      await second.stop();
    });

    expect(stateIn(directory).serving.pid).toBe(before.pid);
  });

  it("verifies keys, and passes requests on without the caller's key", async () => {
    const seen: Record<string, unknown>[] = [];
    const api = createServer(async (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      if (incoming.url !== "/v2/keys.verifyKey") {
        seen.push({ url: incoming.url, method: incoming.method, headers: incoming.headers, body });
        outgoing.writeHead(201, { "x-upstream": "yes" }).end("from upstream");
        return;
      }
      const isGood = JSON.parse(body).key === "good-key";
      const isRoot = incoming.headers.authorization === "Bearer root";
      const data =
        isGood && isRoot
          ? { valid: true, code: "VALID", keyId: "key_1" }
          : { valid: false, code: "RATE_LIMITED" };
      outgoing.writeHead(200).end(JSON.stringify({ meta: { requestId: "req_1" }, data }));
    });
    api.listen(0, "127.0.0.1");
    await once(api, "listening");
    const apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const directory = useDirectory();
    const driver = await startFleet(directory, apiUrl);
    onTestFinished(async () => {
      await driver.stop();
      api.closeAllConnections();
      api.close();
    });
    const url = `http://127.0.0.1:${stateIn(directory).publicPort}/orders?id=7`;
    const call = (authorization?: string) =>
      fetch(url, {
        method: "POST",
        body: "payload",
        headers: { "x-own": "1", ...(authorization !== undefined && { authorization }) },
      });

    const [none, limited, good] = [
      await call(),
      await call("Bearer bad-key"),
      await call("Bearer good-key"),
    ];

    expect([none.status, limited.status, good.status]).toEqual([401, 429, 201]);
    expect(good.headers.get("x-upstream")).toBe("yes");
    expect(await good.text()).toBe("from upstream");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      url: "/orders?id=7",
      method: "POST",
      body: "payload",
      headers: {
        "x-own": "1",
        "x-forwarded-for": expect.stringContaining("127.0.0.1"),
        "x-forwarded-proto": "http",
        "x-vedette-key-id": "key_1",
        via: "1.1 sentinel-01",
      },
    });
    expect(seen[0]?.["headers"]).not.toHaveProperty("authorization");
  });

  it("answers 503 when keys cannot be verified", async () => {
    const directory = useDirectory();
    const driver = await startFleet(directory, "http://127.0.0.1:9");
    onTestFinished(() => driver.stop());
    const url = `http://127.0.0.1:${stateIn(directory).publicPort}/`;

    const answer = await fetch(url, { headers: { authorization: "Bearer any" } });

    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ status: 503, code: "unavailable" });
  });
});
