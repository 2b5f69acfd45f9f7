/** Gates of all kinds between two waves: a real Prometheus, a webhook, and somebody who confirms. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { RolloutHistory, RolloutStatus } from "#rollout/contract.ts";
import { GateRow } from "#rollout/gates/contract.ts";
import { createQueryPrometheus } from "#rollout/gates/query-prometheus.ts";
import { modes } from "../../../support/replay.ts";
import {
  type RolloutBench,
  startRolloutBench,
  webhookSecret,
} from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { findNewerTools } from "../../../support/servers/newer-tools.ts";
import { hasNeeded, hasPrograms } from "../../../support/servers/programs.ts";
import { startPrometheus } from "../../../support/servers/prometheus.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };

type Reply = (request: IncomingMessage, response: ServerResponse) => unknown;

async function serve(reply: Reply) {
  const server = createServer((...of) => void reply(...of)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startBench(options: Parameters<typeof startRolloutBench>[0]) {
  const bench = await startRolloutBench({ size: 4, ...options });
  onTestFinished(() => bench.stop());
  return bench;
}

const untilStatus = (bench: RolloutBench, isWanted: (status: RolloutStatus) => boolean) =>
  waitFor(
    async () => {
      const status = RolloutStatus.parse((await bench.call("Status")).body);
      return isWanted(status) && status;
    },
    { withinMs: 40_000, what: "the rollout" },
  );

const onV1 = (bench: RolloutBench) =>
  [...bench.fleet.running().values()].filter((image) => image === imageV1).length;

/** A Prometheus that reads one number, which a test sets, each second. */
async function measure(programs = "") {
  const shown = { errors: "0" };
  const url = await serve((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(`errors{region="fra"} ${shown.errors}\nerrors{region="iad"} 0\n`);
  });
  const directory = tempDir();
  const scrape = { job_name: "sentinels", static_configs: [{ targets: [new URL(url).host] }] };
  const config = { scrape_configs: [scrape], rule_files: [] };
  writeFileSync(path.join(directory, "prometheus.yml"), JSON.stringify(config));
  const prometheus = await startPrometheus(directory, { everySeconds: 1, programs });
  const scraped = async (value: string) => {
    const of = `errors{region="fra"} == ${value}`;
    await waitFor(async () => (await prometheus.query(of)).length === 1, {
      withinMs: 20_000,
      what: "a scrape",
    });
  };
  await scraped("0");
  const set = (value: string) => {
    shown.errors = value;
    return scraped(value);
  };
  return { url: prometheus.url, set };
}

const gate = {
  ...{ kind: "prometheus", name: "errors", query: "errors", pass: "< 0.1", fail: "> 0.5" },
  ...{ count: 1, interval_seconds: 5, timeout_seconds: 60 },
};

const { programs: newer } = await findNewerTools();

describe.each([
  { version: "installed", isThere: hasPrograms("prometheus"), programs: "" },
  {
    version: "newer",
    isThere: hasNeeded({ "Prometheus 3.5": newer !== undefined }),
    programs: newer,
  },
])("a query at Debian's Prometheus, $version", ({ isThere, programs }) => {
  it.runIf(isThere)("is answered with a vector, a number, nothing or a refusal", async () => {
    const { url } = await measure(programs);
    const query = createQueryPrometheus({ url, token: "" });

    expect(await query('errors{region="iad"}')).toEqual({
      samples: [
        {
          value: 0,
          labels: expect.stringMatching(/^ \{instance="[\d.:]+", job="sentinels", region="iad"\}$/),
        },
      ],
    });
    expect(await query("scalar(vector(1)) / 0")).toEqual({
      samples: [{ value: Number.POSITIVE_INFINITY, labels: "" }],
    });
    expect(await query("absent_metric")).toEqual({ samples: [] });
    expect(await query("errors[1m]")).toEqual({ error: expect.stringContaining("instant vector") });
    expect(await query("errors{")).toEqual({ error: expect.stringContaining("refuses the query") });
  });
});

describe("a query at a hostile server", () => {
  it("sends the token to the server of the settings, and follows no redirect with it", async () => {
    const seen: (string | undefined)[] = [];
    const other = await serve((_, response) => response.end(seen.push("followed")));
    const url = await serve(({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(307, { location: other }).end("the-token-itself");
    });

    const answer = await createQueryPrometheus({ url, token: "the-token-itself" })("up");

    expect(answer).toEqual({ error: expect.stringContaining("status 307") });
    expect(seen).toEqual(["Bearer the-token-itself"]);
  });

  it("stops reading an answer that is too large", async () => {
    const url = await serve((_, response) => response.end("x".repeat(2 * 1024 * 1024)));

    expect(await createQueryPrometheus({ url, token: "" })("up")).toEqual({
      error: expect.stringContaining("more than 1 MiB"),
    });
  });

  it("says no more of a server that is away than its error's code", async () => {
    expect(await createQueryPrometheus({ url: "http://127.0.0.1:9", token: "" })("up")).toEqual({
      error: "Prometheus does not answer (ECONNREFUSED)",
    });
  });
});

describe.each(modes)("a rollout with gates, $mode", ({ alwaysReplay }) => {
  it.skipIf(!hasPrograms("prometheus"))(
    "goes on while the metrics are good, and pauses with the readings when they are not",
    async () => {
      const { url, set } = await measure();
      const bench = await startBench({ alwaysReplay, prometheus: { url, token: "" } });

      const good = await bench.call("Rollout", { ...halves, gates: [gate] });
      await set("0.9");
      const bad = await bench.call("Rollout", { ...halves, image: imageV1, gates: [gate] });

      expect(good.body).toMatchObject({ state: "completed", succeeded: 4 });
      expect(bad.body).toMatchObject({ state: "paused", cause: "gate", succeeded: 2 });
      expect(bad.body["reason"]).toMatch(
        /^the gate is closed: errors: a reading failed, .* 0\.9 \{/,
      );
      const { gate: status } = RolloutStatus.parse(bad.body);
      expect(status?.gates).toMatchObject([
        { name: "errors", kind: "prometheus", verdict: "fail", readings: [{ verdict: "fail" }] },
      ]);
      const isTold = () =>
        bench.chat.messages.some((one) => JSON.stringify(one).includes("Last readings of errors"));
      await waitFor(isTold, { withinMs: 5_000, what: "the message" });
      const { rollouts } = RolloutHistory.parse((await bench.call("History")).body);
      expect(rollouts[0]?.gate?.gates[0]?.readings).toEqual(status?.gates[0]?.readings);
    },
  );

  it("pauses at the end of its time if nothing was conclusive, and says what was read", async () => {
    const prometheus = { url: "http://127.0.0.1:9", token: "" };
    const bench = await startBench({ alwaysReplay, prometheus });
    const short = { ...gate, no_data: "pass", timeout_seconds: 12 };

    const { body } = await bench.call("Rollout", { ...halves, gates: [short] });

    expect(body).toMatchObject({ state: "paused", cause: "gate", succeeded: 2 });
    expect(body["reason"]).toContain("the gate timed out: errors: 0 of 1 readings passed");
    expect(body["reason"]).toContain("ECONNREFUSED");
  });

  it("asks a webhook by signed questions until it passes", async () => {
    const asked: { id: string; isSigned: boolean; data: Record<string, unknown> }[] = [];
    const url = await serve(async (request, response) => {
      const body = await text(request);
      const { "webhook-id": id = "", "webhook-timestamp": at = "" } = request.headers;
      const key = Buffer.from(webhookSecret.slice("whsec_".length), "base64");
      const digest = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
      const isSigned = request.headers["webhook-signature"] === `v1,${digest}`;
      asked.push({ id: `${id}`, isSigned, data: JSON.parse(body).data });
      response.end(JSON.stringify({ result: asked.length === 1 ? "pending" : "pass" }));
    });
    const channel = { id: "ci", kind: "webhook" as const, url, secret: "{{CI}}" };
    const bench = await startBench({ alwaysReplay, webhooks: [channel] });
    const ci = { kind: "webhook", channel: "ci", interval_seconds: 5, timeout_seconds: 60 };

    const { body } = await bench.call("Rollout", { ...halves, gates: [ci] });

    const id = (attempt: number) => `${body["rollout_id"]}_wave-1_webhook_${attempt}`;
    expect(body).toMatchObject({ state: "completed" });
    expect(asked.map((one) => [one.id, one.isSigned])).toEqual([
      [id(1), true],
      [id(2), true],
    ]);
    expect(asked[0]?.data).toMatchObject({
      image: imageV2,
      wave: 1,
      waves: 2,
      total: 4,
      succeeded: 2,
    });
  });

  it("takes up its gate after a killed run and a Resume, with the attempts it had", async () => {
    const asked: string[] = [];
    let result = "pending";
    const url = await serve((request, response) => {
      asked.push(`${request.headers["webhook-id"]}`.replace(/^.*_/, ""));
      response.end(JSON.stringify({ result }));
    });
    const channel = { id: "ci", kind: "webhook" as const, url };
    const bench = await startBench({ alwaysReplay, webhooks: [channel] });
    const ci = { kind: "webhook", channel: "ci", interval_seconds: 5, timeout_seconds: 120 };
    const first = bench.call("Rollout", { ...halves, gates: [ci] });
    await untilStatus(bench, ({ gate: status }) => status?.gates[0]?.readings.length === 1);

    await bench.kill((await bench.state("rolloutState"))["runner"] ?? "");
    const killed = await first;
    result = "pass";
    const resumed = await bench.call("Resume");

    expect(killed.body).toMatchObject({ state: "paused", cause: "run" });
    expect(resumed.body).toMatchObject({ state: "completed", succeeded: 4 });
    expect(asked).toEqual(["1", "2"]);
  });

  it("waits for a confirmation by the gate's name, and goes on at once", async () => {
    const bench = await startBench({ alwaysReplay });
    const gates = [{ kind: "pause", name: "sign-off", message: "look at the canaries" }];
    const rollout = bench.call("Rollout", { ...halves, gates });
    const waiting = await untilStatus(bench, (status) => status.waiting_for === "gate");

    const other = await bench.call("Approve", { gate: "other" });
    const late = await bench.call("Approve", { gate: "sign-off", wave: 1 });
    const confirmed = await bench.callAs("ben", "Approve", { gate: "sign-off", wave: 2 });

    expect(waiting.reason).toContain("look at the canaries");
    expect([other.status, late.status, confirmed.status]).toEqual([409, 409, 200]);
    expect((await rollout).body).toMatchObject({ state: "completed", succeeded: 4 });
    expect((await bench.call("Status")).body).not.toHaveProperty("approved");
  });

  it("keeps a gate of the definitions as it was at its start, and is refused for a name of none", async () => {
    let message = "look at the canaries";
    const gateRows = () => [GateRow.parse({ id: "sign-off", kind: "pause", message })];
    const bench = await startBench({ alwaysReplay, gateRows });
    const unknown = await bench.call("Rollout", { ...halves, gates: ["sign-of"] });
    const rollout = bench.call("Rollout", { ...halves, gates: ["sign-off"] });
    await untilStatus(bench, (status) => status.waiting_for === "gate");

    message = "something else";
    const { reason } = await untilStatus(bench, (status) => status.waiting_for === "gate");
    const confirmed = await bench.callAs("ben", "Approve", { gate: "sign-off" });

    expect(unknown.status).toBe(400);
    expect(JSON.stringify(unknown.body)).toContain("unknown_gate");
    expect(JSON.stringify(unknown.body)).toContain("did you mean sign-off?");
    expect(reason).toContain("sign-off: waits for a confirmation: look at the canaries");
    expect(confirmed.status).toBe(200);
    expect((await rollout).body).toMatchObject({ state: "completed" });
  });

  it("has the default gates of the definitions if it names none, as its plan says", async () => {
    const row = { id: "sign-off", kind: "pause", timeout_seconds: 10, default: true };
    const bench = await startBench({ alwaysReplay, gateRows: () => [GateRow.parse(row)] });

    const plan = await bench.call("Plan", halves);
    const without = await bench.call("Rollout", { ...halves, gates: [] });
    const { body } = await bench.call("Rollout", { ...halves, image: imageV1 });

    expect(plan.body["gates"]).toMatchObject([{ kind: "pause", name: "sign-off" }]);
    expect(without.body).toMatchObject({ state: "completed" });
    const { rollouts } = RolloutHistory.parse((await bench.call("History")).body);
    expect(rollouts.map(({ gates }) => gates)).toEqual([plan.body["gates"], undefined]);
    expect(body).toMatchObject({ state: "paused", cause: "gate", succeeded: 2 });
  });

  it("rolls back if nobody confirms in time and it says so, whatever on_failure is", async () => {
    const bench = await startBench({ alwaysReplay });
    const gates = [{ kind: "pause", timeout_seconds: 10, on_timeout: "rollback" }];

    const { body } = await bench.call("Rollout", { ...halves, gates, on_failure: "pause" });

    expect(body).toMatchObject({ state: "cancelled", outcome: "rolled_back" });
    expect(onV1(bench)).toBe(4);
  });

  it.each([
    [{ ...gate }, 409, "rollout.prometheus_url"],
    [{ kind: "webhook", channel: "nobody" }, 400, "there is no channel of the kind webhook nobody"],
    [{ kind: "webhook", channel: "a", url: "http://169.254.169.254/" }, 400, "url"],
  ])("is refused with %j", async (refused, status, words) => {
    const bench = await startBench({ alwaysReplay });

    const answer = await bench.call("Rollout", { ...halves, gates: [refused] });

    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body)).toContain(words);
    expect((await bench.call("Status")).body.state).toBe("idle");
  });
});
