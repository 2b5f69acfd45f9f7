/** An answer is bounded by its text: a few kilobytes of it, compressed, are sixty megabytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { createAsk } from "#ci/commit/api.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { connectRunning } from "#routing/alertmanager/running.ts";
import { createSourceTokens } from "#routing/tokens/source-tokens.ts";

const ordered = { sentinelId: "gw", image: "r.io/a:1", deployId: "d" };
const reported = { id: "gw", image: "r.io/a:1", status: "ready", deploy_id: "d" };

/** Answers each request with the value, compressed, with so many bytes more. */
const serve = (value: object, more: number) =>
  serveText(JSON.stringify({ ...value, more: "x".repeat(more) }));

async function serveText(text: string): Promise<string> {
  const body = gzipSync(text);
  const server = createServer((_request, answer) => {
    answer.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    answer.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function driverAt(more: number) {
  const driver = createHttpDriver({ url: await serve(reported, more), token: "t" });
  onTestFinished(() => driver.stop());
  return driver;
}

it("a fleet's answer of a sentinel that unfolds to megabytes is refused", async () => {
  const driver = await driverAt(8_000_000);

  await expect(driver.observe(ordered)).rejects.toThrow("the fleet's answer is too large");
  await expect(driver.apply(ordered)).rejects.toThrow("the fleet's answer is too large");
});

it("a fleet's list that unfolds to more than a page may have is refused", async () => {
  const driver = await driverAt(40_000_000);

  await expect(driver.list(AbortSignal.timeout(60_000))).rejects.toThrow("too large");
});

it("a compressed answer of a usual length is read", async () => {
  const driver = await driverAt(1_000);

  expect(await driver.observe(ordered)).toMatchObject({ status: "ready" });
});

it("what a CI says of a commit is refused if it unfolds to more than we read", async () => {
  const [large, usual] = [await serve({}, 8_000_000), await serve({ total_count: 0 }, 1_000_000)];
  const askAt = (apiUrl: string) => createAsk({ apiUrl, token: "" })("repos/a/b/commits/c");

  await expect(askAt(large)).rejects.toThrow("UND_ERR_RES_EXCEEDED_MAX_SIZE");
  expect(await askAt(usual)).toMatchObject({ total_count: 0 });
});

const metrics = "alertmanager_config_hash 7\nalertmanager_config_last_reload_successful 1\n";

it("an alert manager's metrics that unfold to megabytes are refused", async () => {
  const url = await serveText(metrics + "# a comment\n".repeat(700_000));

  await expect(connectRunning(url).readState()).rejects.toThrow("UND_ERR_RES_EXCEEDED_MAX_SIZE");
});

it("an alert manager's compressed metrics of a usual length are read", async () => {
  const url = await serveText(metrics + "# a comment\n".repeat(50_000));

  expect(await connectRunning(url).readState()).toEqual({ configHash: 7, isLastReloadGood: true });
});

const source = { kind: "http", id: "s1", title: "Ours" } as const;

async function tokenAt(more: number) {
  const shown = { alert_source: { id: "s1", name: "Ours", secret_token: "token-1" } };
  const settings = { url: await serve(shown, more), apiKey: "key", attempts: 1 };
  return createSourceTokens(settings).read(source);
}

it("a source with its token that unfolds to megabytes is refused", async () => {
  await expect(tokenAt(8_000_000)).rejects.toThrow("UND_ERR_RES_EXCEEDED_MAX_SIZE");
});

it("a compressed source with its token is read", async () => {
  expect(await tokenAt(100_000)).toEqual({ id: "s1", token: "token-1" });
});
