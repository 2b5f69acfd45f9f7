/** Checks that are removed, or page nobody any more, while their alert is open. */
import { describe, expect, it } from "vitest";
import { DirectChannel } from "#alerts/rows/contract.ts";
import type { ApiCheck, Definitions } from "#monitor/contract.ts";
import { createStates } from "#monitor/state/store.ts";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { unusedStateParts } from "../../../support/monitor/state-parts.ts";
import { waitFor } from "../../../support/wait-for.ts";

const check = anApiCheck({ id: "probe", frequencySeconds: 1 });
const heartbeat = aHeartbeat({ id: "nightly", name: "Nightly" });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const told = ({ orders }: Bench) =>
  orders.map(({ channel, name, transition: { kind, episode, endedBecause } }) =>
    [
      kind,
      episode,
      "to",
      channel,
      "of",
      name,
      ...(endedBecause ? ["since", endedBecause] : []),
    ].join(" "),
  );

async function untilShown(bench: Bench, id: string, isSo: (snapshot: Shown) => boolean) {
  await waitFor(async () => isSo(await bench.snapshot(id)), {
    withinMs: 20_000,
    what: `${id} to be shown so`,
  });
}

type Shown = { status: string; alert: { episode: number } | null } | undefined;

const isAlerting = (snapshot: Shown) => snapshot?.alert != null;

type Options = { alwaysReplay?: boolean; apiChecks?: ApiCheck[] };

async function failingCheck(options: Options = {}): Promise<Bench> {
  const bench = await startMonitorBench({ apiChecks: [check], ...options });
  bench.target.fails();
  await bench.start();
  await untilShown(bench, "probe", isAlerting);
  return bench;
}

async function failedHeartbeat(): Promise<Bench> {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping } = await registerJob(bench, "nightly");
  await ping("/1");
  await untilShown(bench, "nightly", isAlerting);
  return bench;
}

async function isOver({ database }: Bench, id: string): Promise<boolean> {
  const { rows } = await database.query(
    "SELECT bool_and(resolved_at IS NOT NULL) AS is_over FROM check_episodes WHERE check_id = $1",
    [id],
  );
  return rows[0].is_over;
}

describe("an API check whose alert is open", () => {
  it.each([
    { mode: "as usual", alwaysReplay: false },
    { mode: "with every step replayed", alwaysReplay: true },
  ])("resolves where it failed when it is removed, once, $mode", async ({ alwaysReplay }) => {
    const bench = await failingCheck({ alwaysReplay });

    bench.define({ apiChecks: [] });
    await bench.start();
    await bench.untilOrders(2);
    await bench.follow();

    expect(told(bench)).toEqual([
      "opened 1 to production of Verify key",
      "resolved 1 to production of Verify key since the check was removed",
    ]);
    expect((await bench.row("probe")).state).toMatchObject({ status: "paused", alert: null });
    expect(await isOver(bench, "probe")).toBe(true);
  });

  it("counts its alerts on when it comes back", async () => {
    const bench = await failingCheck();
    bench.define({ apiChecks: [] });
    await bench.start();
    await bench.untilOrders(2);

    bench.define({ apiChecks: [check] });
    await bench.start();
    await bench.untilOrders(3);

    expect(told(bench)[2]).toBe("opened 2 to production of Verify key");
  });

  it("resolves at the old channel when it has none any more, and pages nobody then", async () => {
    const bench = await failingCheck();

    bench.define({ apiChecks: [{ ...check, channel: null }] });
    await bench.start();
    await untilShown(bench, "probe", (snapshot) => snapshot?.alert?.episode === 2);

    expect(told(bench)).toEqual([
      "opened 1 to production of Verify key",
      "resolved 1 to production of Verify key since the check pages nobody now",
    ]);
  });

  it("has what waits for a channel sent at once when the channel's row is corrected", async () => {
    const row = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com" });
    const direct: ApiCheck = { ...check, channel: null, directChannels: [row] };
    const corrected = { ...row, url: "https://b.example.com" };
    const bench = await failingCheck({ apiChecks: [direct] });
    const before = [...bench.wentOn];

    bench.define({ apiChecks: [{ ...direct, directChannels: [corrected] }] });
    await bench.start();
    await waitFor(() => bench.wentOn.length > 0, { withinMs: 20_000, what: "the queue to go on" });

    expect(before).toEqual([]);
    expect(new Set(bench.wentOn)).toEqual(new Set(["probe@hook"]));
    expect(bench.orders.map(({ transition }) => transition.kind)).toEqual(["opened"]);
  });
});

describe("a heartbeat whose alert is open", () => {
  it("resolves where it failed when it is removed, once", async () => {
    const bench = await failedHeartbeat();

    bench.define({ heartbeats: [] });
    await bench.start();
    await bench.untilOrders(2);
    await bench.follow();

    expect(told(bench)).toEqual([
      "opened 1 to production of Nightly",
      "resolved 1 to production of Nightly since the check was removed",
    ]);
    expect((await bench.row("nightly")).state.alert).toBeNull();
    expect(await isOver(bench, "nightly")).toBe(true);
  });

  it("resolves at the old channel when it has none any more", async () => {
    const bench = await failedHeartbeat();

    bench.define({ heartbeats: [{ ...heartbeat, channel: null }] });
    await bench.start();
    await bench.untilOrders(2);

    expect(told(bench)[1]).toBe(
      "resolved 1 to production of Nightly since the check pages nobody now",
    );
  });
});

describe("a process that does not know of a new check", () => {
  const followElsewhere = (bench: Bench, defined: Partial<Definitions>) =>
    createStates({
      ...unusedStateParts,
      database: bench.database,
      readDefinitions: (how) => always(how?.isFresh === true ? defined : {})(),
    }).decideAll();

  it("resolves no alert of an API check, and does not turn it off", async () => {
    const bench = await failingCheck();

    await followElsewhere(bench, { apiChecks: [check] });
    await bench.untilResults((await bench.results()).length + 2);
    await bench.untilOrders(1);

    expect(told(bench)).toEqual(["opened 1 to production of Verify key"]);
    expect(await bench.snapshot("probe")).toMatchObject({ status: "failed" });
  });

  it("resolves no alert of a heartbeat", async () => {
    const bench = await failedHeartbeat();

    await followElsewhere(bench, { heartbeats: [heartbeat] });
    await bench.call("vedette.v1.Heartbeat/nightly/Mute");
    await bench.untilOrders(1);

    expect(told(bench)).toEqual(["opened 1 to production of Nightly"]);
    expect(isAlerting(await bench.snapshot("nightly"))).toBe(true);
  });
});

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/" });

/** By channel: there is an order within each of them alone. */
const toldDirectly = ({ orders }: Bench) =>
  orders
    .filter(({ target }) => target !== undefined)
    .toSorted((one, other) => (one.target?.id ?? "").localeCompare(other.target?.id ?? ""))
    .map(({ target, transition: { eventId, endedBecause } }) => [
      target?.id,
      eventId,
      ...(endedBecause === undefined ? [] : [endedBecause]),
    ]);

it("a removed check resolves its alert at every channel", async () => {
  const bench = await failingCheck({ apiChecks: [{ ...check, directChannels: [chat, hook] }] });
  await bench.untilOrders(3);

  bench.define({ apiChecks: [] });
  await bench.start();

  await bench.untilOrders(6);
  expect(toldDirectly(bench)).toEqual([
    ["chat", "probe@chat:1:opened"],
    ["chat", "probe@chat:1:resolved", "the check was removed"],
    ["hook", "probe@hook:1:opened"],
    ["hook", "probe@hook:1:resolved", "the check was removed"],
  ]);
});
