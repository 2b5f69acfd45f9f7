/** Checks that leave and join channels while their alert is open. */
import { describe, expect, it } from "vitest";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/" });
const check = anApiCheck({ id: "probe", frequencySeconds: 1 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;
type Change = Partial<Pick<ApiCheck | Heartbeat, "channel" | "environment" | "directChannels">>;

async function failingCheck(
  change: Change,
  options: Omit<Parameters<typeof startMonitorBench>[0], "apiChecks"> = {},
): Promise<Bench> {
  const bench = await startMonitorBench({ apiChecks: [{ ...check, ...change }], ...options });
  bench.target.fails();
  await bench.start();
  await waitFor(async () => (await bench.snapshot("probe"))?.alert != null, {
    withinMs: 20_000,
    what: "the alert to open",
  });
  return bench;
}

/** Waits until so many events were handed over in all. */
async function redefine(bench: Bench, change: Change, orders: number): Promise<void> {
  bench.define({ apiChecks: [{ ...check, ...change }] });
  await bench.start();
  await bench.untilOrders(orders);
}

async function recover(bench: Bench, orders: number): Promise<void> {
  bench.target.isWell();
  await bench.untilOrders(orders);
  await waitFor(async () => (await bench.snapshot("probe"))?.alert === null, {
    withinMs: 20_000,
    what: "the alert to end",
  });
}

const left = "the check no longer notifies this channel";

/** What one channel was handed, in order. */
const toldTo = ({ orders }: Bench, id: string | null) =>
  orders
    .filter(({ target }) => (target?.id ?? null) === id)
    .map(({ channel, transition: { eventId, endedBecause } }) =>
      [eventId, ...(channel ? [channel] : []), ...(endedBecause ? [endedBecause] : [])].join(", "),
    );

async function episodesOf({ database }: Bench) {
  const { rows } = await database.query("SELECT episode, resolved_at FROM check_episodes");
  return rows.map((row) => ({ episode: row.episode, isOver: row.resolved_at !== null }));
}

describe.each([{ alwaysReplay: false }, { alwaysReplay: true }])(
  "an open alert follows the channels of its check, $alwaysReplay",
  ({ alwaysReplay }) => {
    it("those that leave get the recovery, those that join the failure, others nothing", async () => {
      const old = { ...hook, url: "https://b.example.com/" };
      const bench = await failingCheck({ directChannels: [chat, old] }, { alwaysReplay });
      await bench.untilOrders(3);

      await redefine(bench, { directChannels: [hook, { ...hook, id: "mail" }] }, 5);
      await recover(bench, 8);

      expect(toldTo(bench, null)).toEqual([
        "probe:1:opened, production",
        "probe:1:resolved, production",
      ]);
      expect(toldTo(bench, "chat")).toEqual([
        "probe@chat:1:opened",
        `probe@chat:1:resolved, ${left}`,
      ]);
      expect(toldTo(bench, "hook")).toEqual(["probe@hook:1:opened", "probe@hook:1:resolved"]);
      expect(toldTo(bench, "mail")).toEqual(["probe@mail:1:opened", "probe@mail:1:resolved"]);
    });

    it("one that leaves and joins again, twice, gets other events each time", async () => {
      const bench = await failingCheck({ directChannels: [chat, hook] }, { alwaysReplay });
      await bench.untilOrders(3);

      await redefine(bench, { directChannels: [chat] }, 4);
      await redefine(bench, { directChannels: [chat, hook] }, 5);
      await redefine(bench, { directChannels: [chat] }, 6);
      await redefine(bench, { directChannels: [chat, hook] }, 7);
      await recover(bench, 10);

      expect(toldTo(bench, "hook")).toEqual([
        "probe@hook:1:opened",
        `probe@hook:1:resolved, ${left}`,
        "probe@hook:1-1:opened",
        `probe@hook:1-1:resolved, ${left}`,
        "probe@hook:1-2:opened",
        "probe@hook:1-2:resolved",
      ]);
      expect(toldTo(bench, "chat")).toEqual(["probe@chat:1:opened", "probe@chat:1:resolved"]);
      expect(bench.orders).toHaveLength(10);
    });

    it("the incident service leaves and joins again, and nobody else is told", async () => {
      const bench = await failingCheck({ directChannels: [chat] }, { alwaysReplay });
      await bench.untilOrders(2);

      await redefine(bench, { channel: null, directChannels: [chat] }, 3);
      await redefine(bench, { directChannels: [chat] }, 4);
      const during = await episodesOf(bench);
      await recover(bench, 6);

      expect(toldTo(bench, null)).toEqual([
        "probe:1:opened, production",
        `probe:1:resolved, production, ${left}`,
        "probe:1-1:opened, production",
        "probe:1-1:resolved, production",
      ]);
      expect(toldTo(bench, "chat")).toEqual(["probe@chat:1:opened", "probe@chat:1:resolved"]);
      expect(during).toEqual([{ episode: 1, isOver: false }]);
      expect(bench.orders).toHaveLength(6);
    });

    it("another environment: recovery to the old one, then the failure to the new one", async () => {
      const bench = await failingCheck({ directChannels: [chat] }, { alwaysReplay });
      await bench.untilOrders(2);

      const moved: Change = { channel: "staging", environment: "staging", directChannels: [chat] };
      await redefine(bench, moved, 4);
      await recover(bench, 6);

      expect(toldTo(bench, null)).toEqual([
        "probe:1:opened, production",
        `probe:1:resolved, production, ${left}`,
        "probe:1-1:opened, staging",
        "probe:1-1:resolved, staging",
      ]);
      const ofSource = bench.orders.filter(({ channel }) => channel !== null);
      expect(ofSource.map(({ environment }) => environment)).toEqual([
        "production",
        "production",
        "staging",
        "staging",
      ]);
      expect(toldTo(bench, "chat")).toEqual(["probe@chat:1:opened", "probe@chat:1:resolved"]);
    });
  },
);

it("a check that paged nobody pages the channel that it gets, for the alert that is open", async () => {
  const bench = await failingCheck({ channel: null });

  await redefine(bench, {}, 1);
  await recover(bench, 2);

  expect(toldTo(bench, null)).toEqual([
    "probe:1:opened, production",
    "probe:1:resolved, production",
  ]);
});

it("a channel that joins while the check is muted is told once it is not", async () => {
  const bench = await failingCheck({ directChannels: [chat] });
  await bench.untilOrders(2);
  await bench.call("vedette.v1.ApiCheck/probe/Mute", {});

  await redefine(bench, { channel: "staging", directChannels: [chat, hook] }, 3);
  const results = (await bench.results()).length;
  await bench.untilResults(results + 3);
  const muted = bench.orders.length;
  await bench.call("vedette.v1.ApiCheck/probe/Unmute", {});
  await bench.untilOrders(5);
  await recover(bench, 8);

  expect(muted).toBe(3);
  expect(toldTo(bench, null)).toEqual([
    "probe:1:opened, production",
    `probe:1:resolved, production, ${left}`,
    "probe:1-1:opened, staging",
    "probe:1-1:resolved, staging",
  ]);
  expect(toldTo(bench, "hook")).toEqual(["probe@hook:1:opened", "probe@hook:1:resolved"]);
});

it("a channel that never joined gets no recovery", async () => {
  const bench = await failingCheck({});
  await bench.untilOrders(1);
  await bench.call("vedette.v1.ApiCheck/probe/Mute", {});

  bench.define({ apiChecks: [{ ...check, directChannels: [hook] }] });
  await bench.start();
  await bench.untilResults((await bench.results()).length + 3);
  await recover(bench, 2);

  expect(toldTo(bench, "hook")).toEqual([]);
});

it("a removed check resolves its alert under the ids of the channels that it joined again", async () => {
  const bench = await failingCheck({ directChannels: [hook] });
  await bench.untilOrders(2);
  await redefine(bench, {}, 3);
  await redefine(bench, { directChannels: [hook] }, 4);

  bench.define({ apiChecks: [] });
  await bench.start();
  await bench.untilOrders(6);

  expect(toldTo(bench, "hook").at(-1)).toBe("probe@hook:1-1:resolved, the check was removed");
  expect(toldTo(bench, null).at(-1)).toBe("probe:1:resolved, production, the check was removed");
});

it("the next episode counts from the beginning", async () => {
  const bench = await failingCheck({ directChannels: [hook] });
  await bench.untilOrders(2);
  await redefine(bench, {}, 3);
  await redefine(bench, { directChannels: [hook] }, 4);
  await recover(bench, 6);

  bench.target.fails();
  await bench.untilOrders(8);

  expect(toldTo(bench, "hook").at(-1)).toBe("probe@hook:2:opened");
});

it("a heartbeat's alert follows its channels as well", async () => {
  const heartbeat = aHeartbeat({ id: "nightly", channel: null, directChannels: [hook] });
  const define = async (bench: Bench, change: Change, orders: number) => {
    bench.define({ heartbeats: [{ ...heartbeat, ...change }] });
    await bench.start();
    await bench.untilOrders(orders);
  };
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const { ping } = await registerJob(bench, "nightly");
  await ping("/1");
  await bench.untilOrders(1);

  await define(bench, { channel: "production" }, 2);
  await define(bench, { channel: "production", directChannels: [] }, 3);
  await define(bench, { channel: "production" }, 4);
  await ping();
  await bench.untilOrders(6);

  expect(toldTo(bench, null)).toEqual([
    "nightly:1:opened, production",
    "nightly:1:resolved, production",
  ]);
  expect(toldTo(bench, "hook")).toEqual([
    "nightly@hook:1:opened",
    `nightly@hook:1:resolved, ${left}`,
    "nightly@hook:1-1:opened",
    "nightly@hook:1-1:resolved",
  ]);
});

it("the channel itself gets each of its events once, and each has a row of its own", async () => {
  const sent: AlertMessage[] = [];
  const untilSent = (count: number) =>
    waitFor(() => sent.length >= count, { withinMs: 20_000, what: `${count} messages` });
  const bench = await failingCheck(
    { directChannels: [hook] },
    {
      send: async (_, message) => {
        sent.push(message as AlertMessage);
        return { kind: "accepted" };
      },
    },
  );
  await untilSent(1);

  await redefine(bench, {}, 0);
  await untilSent(2);
  await redefine(bench, { directChannels: [hook] }, 0);
  await untilSent(3);
  bench.target.isWell();
  await untilSent(4);

  const ids = ["1:opened", "1:resolved", "1-1:opened", "1-1:resolved"].map(
    (id) => `probe@hook:${id}`,
  );
  expect(sent.map(({ eventId }) => eventId)).toEqual(ids);
  expect(sent.map(({ joining }) => joining)).toEqual([0, 0, 1, 1]);
  expect(new Set(sent.map(({ dedupKey }) => dedupKey))).toEqual(new Set(["probe:1"]));
  const rows = await waitFor(
    async () => {
      const found = await bench.database.query(
        "SELECT event_id FROM alert_events WHERE channel = 'hook' AND status = 'accepted' ORDER BY queued_at",
      );
      return found.rows.length === 4 ? found.rows : undefined;
    },
    { withinMs: 10_000, what: "four accepted events" },
  );
  expect(rows.map(({ event_id }) => event_id)).toEqual(ids);
});
