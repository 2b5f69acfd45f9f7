/** The traces of a whole program, at a receiver of OTLP: of a pipeline's rollout, of a request to the API, and of a check. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import {
  callerSpan,
  callTraced,
  findOrphans,
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
  traceparentIn,
} from "../../support/servers/otlp-receiver.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const within = (what: string) => ({ withinMs: 30_000, what });

/** Answers 500 to checks, and takes webhooks with the header by which their receiver continues the trace. */
async function startSite() {
  const parents: string[] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/hook-secret"))
      parents.push(`${request.headers["traceparent"]} ${request.headers["tracestate"]}`);
    response.statusCode = request.url === "/sick" ? 500 : 200;
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, parents, stop };
}

describe("a program with a receiver of traces", () => {
  let receiver: OtlpReceiver;
  let site: Awaited<ReturnType<typeof startSite>>;
  let fleet: FakeFleet;
  let program: Program;
  const directory = makeTempDir();

  beforeAll(async () => {
    [receiver, site, fleet] = await Promise.all([
      startOtlpReceiver(),
      startSite(),
      startFakeFleet({ size: 4 }),
    ]);
    const file = path.join(directory.path, "vedette.config.yaml");
    writeFileSync(
      file,
      [
        `channels:\n  - { id: hook, kind: webhook, url: "${site.url}/hook-secret" }`,
        `checks:\n  - { id: shop, name: shop, environment: production, url: "${site.url}/sick", frequencySeconds: 10, channels: [hook] }`,
      ].join("\n"),
    );
    program = await startProgram({
      ...fleet.environment(),
      VEDETTE_DEFINITIONS__FILE: file,
      VEDETTE_ROLLOUT__CHANNELS: "hook",
      VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
  }, 120_000);

  afterAll(async () => {
    await program?.dispose();
    directory.remove();
    await fleet.stop();
    site.stop();
    await receiver.stop();
  });

  const untilWhole = (traceId: string, isComplete: (spans: ReceivedSpan[]) => boolean) =>
    waitFor(async () => {
      const spans = receiver.trace(traceId);
      return isComplete(spans) && findOrphans(spans, callerSpan).length === 0 && spans;
    }, within("the trace to be whole"));

  const named = (spans: ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);

  it("continues a pipeline's trace to the requests of the driver and the webhooks", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const body = { image: imageV2, wave_percentages: [50, 100] };

    expect(await callTraced(program, "Rollout", { traceId, body })).toBe(200);
    const spans = await untilWhole(traceId, (all) => {
      const messages = named(all, "send sentinel_rollout");
      const isSent = messages.length >= 6 && named(all, "PUT").length >= 4;
      return isSent && named(all, "rollout").length === 1;
    });
    const [rollout] = named(spans, "rollout");
    expect(rollout).toMatchObject({ parentSpanId: callerSpan, traceState: "rojo=1" });
    expect(named(spans, "wave")).toHaveLength(2);
    const deploys = named(spans, "deploy sentinel");
    expect(deploys).toHaveLength(4);
    for (const { spanId } of deploys) {
      const calls = spans.filter(({ parentSpanId }) => parentSpanId === spanId);
      const puts = calls.filter(({ name }) => name === "PUT");
      expect(puts).toMatchObject([
        {
          kind: 3,
          attributes: { "http.request.method": "PUT", "server.address": "127.0.0.1" },
        },
      ]);
    }
    await waitFor(
      () => site.parents.some((one) => /^00-4bf9.*-01 rojo=1$/.test(one)),
      within("a webhook with the trace"),
    );
  });

  it("records a request to the API with its route and status, below the caller's span", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const { root_key: rootKey } = JSON.parse(
      readFileSync(path.join(program.dataDir, "credentials.json"), "utf8"),
    );

    const answer = await fetch(`${program.endpoints().api}/v2/keys.verifyKey`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${rootKey}`,
        "content-type": "application/json",
        traceparent: traceparentIn(traceId),
      },
      body: JSON.stringify({ key: "a_secret_key" }),
    });

    expect(answer.status).toBe(200);
    const [span] = await untilWhole(traceId, (all) => all.length > 0);
    expect(span).toMatchObject({
      name: "POST /v2/keys.verifyKey",
      kind: 2,
      parentSpanId: callerSpan,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v2/keys.verifyKey",
        "http.response.status_code": 200,
      },
    });
  });

  it("follows a failing check by its verdict and event to the delivery", async () => {
    const event = await waitFor(
      () => receiver.spans.find(({ name }) => name === "send alert_event"),
      within("the event of the check"),
    );
    const spans = await untilWhole(event.traceId, (all) =>
      all.some(({ parentSpanId }) => parentSpanId === event.spanId),
    );

    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const [delivery] = spans.filter(({ parentSpanId }) => parentSpanId === event.spanId);
    const verdict = byId.get(event.parentSpanId ?? "");
    const check = byId.get(verdict?.parentSpanId ?? "");
    expect(delivery).toMatchObject({ name: "POST", kind: 3 });
    expect(verdict).toMatchObject({ name: "verdict" });
    expect(check).toMatchObject({
      name: "check",
      attributes: { "vedette.check.id": "shop", "vedette.check.grade": "failed" },
    });
    expect(named(spans, "probe")).toMatchObject([{ parentSpanId: check?.spanId, kind: 3 }]);
  });

  it("records no secret, no path of a webhook and no key", () => {
    const all = JSON.stringify(receiver.spans);

    expect(all).not.toContain("hook-secret");
    expect(all).not.toContain("a_secret_key");
    expect(all).not.toContain(program.token());
  });
});
