/** The private port of a sentinel, for any other program of the machine. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  activateChild,
  probeChild,
  readCountersOf,
  startChild,
} from "#fleet/drivers/process-child.ts";
import { endProcess } from "#kernel/process.ts";
import { freePort } from "../../support/free-port.ts";
import { tempDir } from "../../support/temp-dir.ts";

const start = async () => {
  const publicPort = await freePort();
  const named = { id: "sentinel-01", image: "r.io/sentinel:v1" };
  const { child } = await startChild({
    ...named,
    region: "local",
    publicPort,
    apiUrl: "http://127.0.0.1:9",
    rootKey: "root",
    upstreamUrl: "",
    trustedProxies: [],
    readyTimeoutMs: 60_000,
    logFile: path.join(tempDir(), "sentinel.log"),
  });
  onTestFinished(() => endProcess(child, { signal: "SIGKILL", graceMs: 0 }));
  const own = `http://127.0.0.1:${child.healthPort}`;
  return { child, named, own, served: `http://127.0.0.1:${publicPort}/.sentinel/health` };
};

it.each([
  ["nothing", {}],
  ["an empty token", { authorization: "Bearer " }],
  ["another token", { authorization: "Bearer 0123456789abcdef0123456789abcdef" }],
  ["the root key", { authorization: "Bearer root" }],
])("a sentinel is not put into service by a caller with %s", async (_what, headers) => {
  const { own, served } = await start();

  const answer = await fetch(`${own}/activate`, { method: "POST", headers });

  expect(answer.status).toBe(401);
  await expect(fetch(served)).rejects.toThrow("fetch failed");
});

it("a sentinel says nothing of itself to a caller without its token", async () => {
  const { own } = await start();

  const answer = await fetch(`${own}/health`);

  expect([answer.status, await answer.text()]).toEqual([401, ""]);
});

it("a sentinel is asked and put into service by the driver that has started it", async () => {
  const { child, named, served } = await start();

  const probe = await probeChild(child, named);
  await activateChild(child);

  expect(probe).toEqual({ state: "healthy" });
  expect((await fetch(served)).status).toBe(200);
});

it("another program at the port of a sentinel that has ended does not hold up counters byte by byte", async () => {
  const server = createServer((_request, answer) => {
    const timer = setInterval(() => answer.write("x"), 500);
    answer.once("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port: healthPort } = server.address() as AddressInfo;
  const serving = { pid: 1, startedAt: "", healthPort, privateToken: "t", keyMark: "" };
  const startedMs = performance.now();

  const counters = await readCountersOf([{ id: "gw", serving: serving as never }]);

  expect(counters.size).toBe(0);
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
