/** A worker that a deploy step registers (`worker.register = "never"`), before the real Restate. */
import { service } from "@restatedev/restate-sdk";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { advertisedUrlOf, awaitRegistered, codeRevision } from "#worker/register.ts";
import { startTestRestate } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

async function startWorker() {
  const ours = service({ name: "vedette.v1.Ours", handlers: { ask: async () => 1 } });
  const endpoint = await serveEndpoint({
    ...{ host: "127.0.0.1", port: 0, identityKeys: [], services: [ours] },
    log: createLog({ level: "silent", format: "json" }),
  });
  onTestFinished(endpoint.stop);
  const { adminUrl, stop } = await startTestRestate({ services: [] });
  onTestFinished(stop);
  const told: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void told.push(JSON.parse(line)) });
  return { registration: { adminUrl, workerUrl: endpoint.url, revision: "r1" }, log, told };
}

it("a worker that a deploy step registers waits for it, and says once at which address", async () => {
  const { registration, log, told } = await startWorker();
  let isRegistered = false;
  const waiting = awaitRegistered(registration, { log }).then(() => {
    isRegistered = true;
  });
  await waitFor(() => told.length > 0, { withinMs: 10_000, what: "the line in the log" });
  const before = isRegistered;

  const uri = String(told[0]?.["uri"]);
  await fetch(`${registration.adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri, breaking: true }),
  });
  await waiting;

  expect(before).toBe(false);
  expect(told.map(({ uri: one }) => one)).toEqual([`${registration.workerUrl}/rev-r1`]);
});

it("a worker that waits for its registration ends with the start", async () => {
  const { registration, log, told } = await startWorker();
  const stop = new AbortController();
  const waiting = awaitRegistered(registration, { log, signal: stop.signal });
  await waitFor(() => told.length > 0, { withinMs: 10_000, what: "the line in the log" });

  stop.abort();

  await expect(waiting).resolves.toBeUndefined();
});

it("the address of a worker has the revision of its code in place of the mark", () => {
  const { worker } = readConfig({
    environment: { VEDETTE_WORKER__ADVERTISED_URL: "https://{revision}.example.com/" },
  });

  expect(worker.advertised_url).toBe("https://{revision}.example.com");
  expect(advertisedUrlOf(worker)).toBe(`https://${codeRevision()}.example.com`);
});
