/** Cuts off the worker at every step of the waits for gates, of a watch after the completion, and of the reconciler. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RolloutStatus } from "#rollout/contract.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { type CrashProxy, startCrashProxy } from "../../support/servers/crash-proxy.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The worker is lost after each so many pieces of data, from another one on in each round: so all are in some round. */
const every = Number(process.env["SWEEP_EVERY"] ?? 40);
const rounds = Number(process.env["SWEEP_ROUNDS"] ?? 4);

const image = (name: string) => `registry.example.com/vedette/sentinel:${name}`;

const gates = [
  { kind: "pause", name: "ok" },
  { kind: "webhook", channel: "ci", interval_seconds: 5, timeout_seconds: 300 },
  {
    ...{ kind: "prometheus", query: "errors", pass: "< 1" },
    ...{ count: 1, interval_seconds: 5, timeout_seconds: 300 },
  },
];

type Question = { id: string; data: { rollout_id: string; attempt: number; wave: number } };

/** Answers questions of gates, the first of a rollout with `pending`, and queries with 0. */
async function startPeer() {
  const asked: Question[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (request.url?.startsWith("/api/v1/query")) {
      const data = { resultType: "scalar", result: [0, "0"] };
      response.end(JSON.stringify({ status: "success", data }));
      return;
    }
    const { data } = JSON.parse(body) as Question;
    asked.push({ id: `${request.headers["webhook-id"]}`, data });
    response.end(JSON.stringify({ result: data.attempt === 1 ? "pending" : "pass" }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const sent: { id: string; event: string }[] = [];
let proxy: CrashProxy;
let peer: Awaited<ReturnType<typeof startPeer>>;
let bench: RolloutBench;
let cuts = 0;

beforeAll(async () => {
  proxy = await startCrashProxy();
  peer = await startPeer();
  bench = await startRolloutBench({
    size: 4,
    through: proxy,
    webhooks: [{ id: "ci", kind: "webhook", url: peer.url }],
    prometheus: { url: peer.url, token: "" },
    onDrift: () => "converge",
    chat: {
      send: async (_, message) => {
        if (message.kind !== "notice") return { kind: "accepted" };
        sent.push({ id: message.eventId, event: message.notice.rollout?.event ?? "" });
        return { kind: "accepted" };
      },
    },
  });
});

afterAll(async () => {
  await bench?.stop();
  await proxy?.stop();
  peer?.stop();
});

/** Cuts it off until the function is called that is returned. */
function cutFrom(first: number): () => void {
  const spring = () => {
    cuts += 1;
    proxy.arm({ after: every, spring });
  };
  proxy.arm({ after: first, spring });
  return () => proxy.arm({ after: Number.POSITIVE_INFINITY, spring });
}

const untilStatus = (what: string, isWanted: (status: RolloutStatus) => boolean) =>
  waitFor(
    async () => {
      const status = (await bench.call("Status")).body as unknown as RolloutStatus;
      return isWanted(status) && status;
    },
    { withinMs: 60_000, what },
  );

/** Rolls out this image past its gates. Returns the rollout's id. */
async function complete(name: string, fields: object = {}): Promise<string> {
  const request = { image: image(name), wave_percentages: [50, 100], gates, ...fields };
  await bench.send("Rollout", request);
  const isAsked = ({ image: of, reason = "" }: RolloutStatus) =>
    of === request.image && reason.includes("waits for a confirmation");
  await untilStatus("the wait for a confirmation", isAsked);
  expect(await bench.callAs("ben", "Approve", { gate: "ok" })).toMatchObject({ status: 200 });
  const { rollout_id } = await untilStatus("the completion", ({ state }) => state === "completed");
  return `${rollout_id}`;
}

async function eventsOf(rolloutId: string): Promise<string[]> {
  const select = "SELECT event FROM rollout_messages WHERE rollout_id = $1 ORDER BY sequence";
  const { rows } = await bench.database.query<{ event: string }>(select, [rolloutId]);
  return rows.map(({ event }) => event);
}

/** Waits until history and the channels have so many events, and expects each once, in this order. */
async function expectEvents(rolloutId: string, events: string[]): Promise<void> {
  const own = () => sent.filter(({ id }) => id.includes(rolloutId));
  await waitFor(
    async () =>
      (await eventsOf(rolloutId)).length >= events.length && own().length >= events.length,
    { withinMs: 30_000, what: `the events ${events}` },
  );
  expect(await eventsOf(rolloutId)).toEqual(events);
  expect(own().map(({ event }) => event)).toEqual(events);
}

const orders = (name: string) => bench.fleet.applied.filter((one) => one.image === image(name));

/** Each of these sentinels was ordered once to run the image: a repeated order is of the same deploy. */
function expectOrdersOf(name: string, ids: string[]): void {
  const deploys = new Map(orders(name).map(({ id, deployId }) => [deployId, id]));
  expect([...deploys.values()].toSorted()).toEqual(ids);
}

/** Each attempt was asked under an id of its own, however often. */
function expectQuestionsOf(rolloutId: string): void {
  const own = peer.asked.filter(({ data }) => data.rollout_id === rolloutId);
  const ids = Map.groupBy(own, ({ data }) => data.attempt);
  expect([...ids.keys()].toSorted()).toEqual([1, 2]);
  expect([...ids.values()].map((same) => new Set(same.map(({ id }) => id)).size)).toEqual([1, 1]);
  expect(own.every(({ data }) => data.wave === 1)).toBe(true);
}

const all = ["s01", "s02", "s03", "s04"];
const completed = [
  ...["rollout started", "wave started", "wave completed"],
  ...["waiting", "gate confirmed", "wave started", "wave completed", "completed"],
];
const rolledBack = ["fault found", "rollback started", "rollback completed"];

const offsets = Array.from({ length: rounds }, (_, n) => Math.floor((n * every) / rounds));

describe("a worker that is lost at every step", { retry: 0, timeout: 120_000 }, () => {
  it.each(offsets)(
    "has each gate pass once, and a fault rolled back once (from piece %i on)",
    async (first) => {
      const before = new Map(bench.fleet.running());
      const stopCuts = cutFrom(first);

      const id = await complete(`w${first}`, { watch_for: 600, on_failure: "rollback" });
      bench.fleet.sicken("s02");
      await waitFor(
        async () => {
          await bench.checkDrift();
          return (await bench.call("Status")).body["outcome"] === "rolled_back";
        },
        { withinMs: 60_000, what: "the rollback" },
      );
      bench.fleet.sicken();

      stopCuts();
      await expectEvents(id, [...completed, ...rolledBack]);
      expectOrdersOf(`w${first}`, all);
      expectQuestionsOf(id);
      expect(bench.fleet.running()).toEqual(before);
    },
  );

  it.each(offsets)(
    "has a change by hand held once, and one put back brought back once (from piece %i on)",
    async (first) => {
      const request = { image: image(`c${first}`), wave_percentages: [100] };
      const { body } = await bench.call("Rollout", request);
      expect(body.state).toBe("completed");
      const [debug = "", old = ""] = [image(`debug${first}`), bench.fleet.applied[0]?.image];
      bench.fleet.applied.length = 0;
      bench.fleet.run("s01", debug);
      bench.fleet.run("s02", old);
      const stopCuts = cutFrom(first);

      await waitFor(
        async () => {
          await bench.checkDrift();
          return bench.fleet.running().get("s02") === image(`c${first}`);
        },
        { withinMs: 60_000, what: "the sentinel to be brought back" },
      );
      await bench.checkDrift();
      await untilStatus(
        "the reconciler's rollout to complete",
        ({ state }) => state === "completed",
      );

      stopCuts();
      const { rows: holds } = await bench.database.query(
        "SELECT id, ids, added_by FROM rollout_pins",
      );
      expect(holds).toMatchObject([{ ids: ["s01"], added_by: "reconciler" }]);
      const isTold = () => sent.filter(({ id: of }) => of.includes(`drift-${holds[0].id}`));
      await waitFor(() => isTold().length > 0, {
        withinMs: 30_000,
        what: "the notice of the hold",
      });
      expect(isTold()).toHaveLength(1);
      expectOrdersOf(`c${first}`, ["s02"]);
      expect(bench.fleet.running().get("s01")).toBe(debug);
      const removal = { id: holds[0].id, reason: "the round is over" };
      await bench.post("vedette.v1.RolloutPins/Remove", removal, "ada");
    },
  );

  it("was lost often", () => {
    expect(cuts).toBeGreaterThan(rounds * 5);
  });
});
