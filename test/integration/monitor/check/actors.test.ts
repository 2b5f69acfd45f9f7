/** Who did what to checks, heartbeats and runners: in their records, and in the log. */
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { modes } from "../../../support/replay.ts";
import { waitFor } from "../../../support/wait-for.ts";

const check = anApiCheck({ id: "probe", frequencySeconds: 600 });
const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 60 });
const probe = "vedette.v1.ApiCheck/probe";
const nightly = "vedette.v1.Heartbeat/nightly";
const runners = "vedette.v1.MonitorRunners";
const makeHash = () => createHash("sha256").update(randomBytes(32)).digest("hex");

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

/** The fields of these lines, each once: a step that is tried again logs again. */
function logged(bench: Bench, message: string): object[] {
  const lines = bench.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const fields = lines
    .filter(({ msg }) => msg === message)
    .map(({ time: _time, ...others }) => JSON.stringify(others));
  return [...new Set(fields)].map((line) => JSON.parse(line) as object);
}

describe.each(modes)("an operator's name, $mode", ({ alwaysReplay }) => {
  it("is in a mute, in its snapshot and in the log", async () => {
    const bench = await startMonitorBench({ apiChecks: [check], alwaysReplay });
    const until = "2099-01-01T00:00:00.000Z";

    const muted = await bench.call(`${probe}/Mute`, { until }, "ada");
    await waitFor(async () => (await bench.snapshot("probe"))?.quiet.mutedBy === "ada", {
      withinMs: 10_000,
      what: "the snapshot",
    });
    const unmuted = await bench.call(`${probe}/Unmute`, {}, "grace");

    expect(muted.body).toMatchObject({ muted_until: until, muted_by: "ada" });
    expect(unmuted.body).toMatchObject({ muted_until: null, muted_by: null });
    expect(logged(bench, "check muted")).toMatchObject([{ check: "probe", by: "ada", until }]);
    expect(logged(bench, "check unmuted")).toMatchObject([{ check: "probe", by: "grace" }]);
  });

  it("is in each maintenance window of a heartbeat", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat], alwaysReplay });
    const window = { from: "2099-01-01T00:00:00Z", to: "2099-01-02T00:00:00Z", reason: "upgrade" };

    await bench.call(`${nightly}/Maintenance`, window, "ada");
    const { body } = await bench.call(`${nightly}/Maintenance`, window, "grace");
    const ended = await bench.call(`${nightly}/EndMaintenance`, {}, "alan");

    expect(body.maintenance).toMatchObject([{ by: "ada" }, { by: "grace", reason: "upgrade" }]);
    expect(ended.body.maintenance).toEqual([]);
    expect(logged(bench, "maintenance added")).toMatchObject([{ by: "ada" }, { by: "grace" }]);
    expect(logged(bench, "maintenance ended")).toMatchObject([{ check: "nightly", by: "alan" }]);
  });

  it.each([
    ["ada", "mallory", "ada"],
    ["ada", "ada", "ada"],
    ["ingress-token", "ada", "ingress-token (ada)"],
    [undefined, "ada", "local-caller"],
  ])("of %s is in an acknowledgement, whoever %s is", async (caller, by, expected) => {
    const often = { ...check, frequencySeconds: 1 };
    const bench = await startMonitorBench({ apiChecks: [often], alwaysReplay });
    bench.target.fails();
    await bench.start();
    await bench.untilOrders(1);

    const { body } = await bench.call(`${probe}/Acknowledge`, { by }, caller);

    expect(body.alert).toMatchObject({ acknowledged_by: expected });
    expect(logged(bench, "alert acknowledged")).toMatchObject([{ by: expected, episode: 1 }]);
  });

  it("is kept with the ping URL of a heartbeat", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat], alwaysReplay });
    const register = (by: string) =>
      bench.call(`${nightly}/Register`, { token_hash: makeHash() }, by);

    await register("ada");
    await register("grace");

    const { rows } = await bench.database.query("SELECT registered_by FROM heartbeats");
    expect(rows).toEqual([{ registered_by: "grace" }]);
    expect(logged(bench, "heartbeat registered")).toMatchObject([
      { check: "nightly", by: "ada", replaced: false },
      { check: "nightly", by: "grace", replaced: true },
    ]);
  });

  it("is kept with a runner, and logged when it is removed", async () => {
    const bench = await startMonitorBench({ apiChecks: [check], alwaysReplay });

    await bench.call(`${runners}/Add`, { location: "fra", token_hash: makeHash() }, "ada");
    const { body } = await bench.call(`${runners}/List`);
    await bench.call(`${runners}/Remove`, { location: "fra" }, "grace");

    expect(body.runners).toMatchObject([{ location: "fra", added_by: "ada" }]);
    expect(logged(bench, "runner added")).toMatchObject([{ location: "fra", by: "ada" }]);
    expect(logged(bench, "runner removed")).toMatchObject([{ location: "fra", by: "grace" }]);
  });
});

it("a name that the gateway has not signed is not recorded", async () => {
  const bench = await startMonitorBench({ apiChecks: [check] });

  const { ingressUrl } = bench.restate;
  const answer = await fetch(`${ingressUrl}/${probe}/Mute`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-vedette-actor": "mallory" },
    body: "{}",
  });

  expect(await answer.json()).toMatchObject({ muted_by: "local-caller" });
});
