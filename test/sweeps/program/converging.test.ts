/** Kills the program's parts while drifted sentinels are brought back, and while a completed rollout is watched. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cronServiceName } from "#cron/contract.ts";
import { pinsName } from "#rollout/choice/contract.ts";
import { type FakeChat, startFakeChat } from "../../support/alerts/fake-chat.ts";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Part, type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const killEveryMs = 10_000;

type Bench = { program: Program; fleet: FakeFleet; chat: FakeChat; stop: () => Promise<void> };

/** A fleet of so many that is listed each second. */
async function startBench(size: number, onDrift: "report" | "converge"): Promise<Bench> {
  const fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs: 60 }) });
  const chat = await startFakeChat();
  const program = await startProgram({
    ...fleet.environment(),
    VEDETTE_FLEET__LIST_EVERY_SECONDS: "1",
    VEDETTE_FLEET__ON_DRIFT: onDrift,
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
    VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: chat.url,
    VEDETTE_SLACK__MESSAGE_SPACING_MS: "20",
  });
  const stop = async () => {
    await program.dispose();
    await fleet.stop();
    await chat.stop();
  };
  return { program, fleet, chat, stop };
}

/** Checks for drift at once, besides the timed job; not while the program is down. */
const check = ({ program }: Bench) =>
  program.post(`${cronServiceName}/fleet-drift/Run`).catch(() => undefined);

async function complete({ program }: Bench, request: object): Promise<Record<string, unknown>> {
  const { body } = await program.call("Rollout", { wave_percentages: [100], ...request });
  expect(body).toMatchObject({ state: "completed", failed: 0 });
  return body;
}

describe("2,000 sentinels of which 5 % are killed, replaced, late or put back", {
  retry: 0,
}, () => {
  const size = 2_000;
  const mostUnavailable = 40;
  const readyAfterMs = 4_000;
  let bench: Bench;

  beforeAll(async () => {
    bench = await startBench(size, "converge");
  });

  afterAll(() => bench?.stop());

  it("all run the image again although a part is killed every 10 s, nobody twice, held ones untouched", async () => {
    const { program, fleet } = bench;
    const late = ids(1_900, 20);
    const latePin = { id: "late", ids: late, reason: "they come later" };
    expect(await program.post(`${pinsName}/Add`, latePin)).toMatchObject({ status: 200 });
    await complete(bench, { image: imageV2, max_unavailable: mostUnavailable });
    const held = ids(1, 10);
    const hold = { id: "hold-1", fleet: "singleton", ids: held, reason: "an incident" };
    expect(await program.post(`${pinsName}/Add`, hold)).toMatchObject({ status: 200 });
    await program.post(`${pinsName}/Remove`, { id: "late", reason: "it is later" });
    const [killed, replaced, putBack] = [ids(100, 20), ids(200, 20), ids(300, 40)];
    for (const id of killed) fleet.change(id, "");
    for (const id of replaced) {
      fleet.remove(id);
      fleet.change(`${id}-new`, imageV1);
    }
    for (const id of [...held, ...putBack]) fleet.change(id, imageV1);
    const before = fleet.puts.length;
    fleet.behave(() => ({ readyAfterMs }));

    const isOver = () =>
      [...fleet.running()].every(([id, image]) => (image === imageV2) !== held.includes(id));
    const kills = await killUntil(bench, isOver);

    const orders = fleet.puts.slice(before);
    const disturbed = [...late, ...killed, ...replaced.map((id) => `${id}-new`), ...putBack];
    expect([...new Set(orders.map(({ id }) => id))].toSorted()).toEqual(disturbed.toSorted());
    expect(new Set(orders.map(({ deployId }) => deployId)).size).toBe(disturbed.length);
    expect(held.map((id) => fleet.running().get(id))).toEqual(held.map(() => imageV1));
    expect(mostAtOnce(orders, { killed, readyAfterMs })).toBeLessThanOrEqual(mostUnavailable);
    expect(kills).toBeGreaterThan(1);
  });
});

/** The ids of so many sentinels. */
function ids(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `gw-${String(first + i).padStart(4, "0")}`);
}

/** Kills one part after the other until this is so, and returns how many. */
async function killUntil(bench: Bench, isOver: () => boolean): Promise<number> {
  const parts: Part[] = ["main", "restate", "postgres"];
  const startedMs = Date.now();
  let kills = 0;
  for (; !isOver(); kills += 1) {
    if (Date.now() - startedMs > 240_000)
      throw new Error("they were not brought back in 4 minutes");
    const untilMs = Date.now() + killEveryMs;
    while (Date.now() < untilMs && !isOver()) {
      await check(bench);
      await delay(1_000);
    }
    const part = parts[kills % parts.length];
    if (part !== undefined) await killAndRestart(bench.program, [part]);
  }
  return kills;
}

/** The most sentinels that were in flight, or killed and not ordered yet, at one time. */
function mostAtOnce(
  orders: readonly { id: string; deployId: string; atMs: number }[],
  { killed, readyAfterMs }: { killed: readonly string[]; readyAfterMs: number },
): number {
  const begun = new Map(orders.toReversed().map(({ id, atMs }) => [id, atMs]));
  const counts = [...begun.values()].map((at) => {
    const inFlight = [...begun].filter(([, start]) => start <= at && at < start + readyAfterMs);
    const down = killed.filter((id) => (begun.get(id) ?? 0) > at);
    return inFlight.length + down.length;
  });
  return Math.max(...counts);
}

describe("a completed rollout that is watched", { retry: 0 }, () => {
  let bench: Bench;
  let images = 0;

  beforeAll(async () => {
    bench = await startBench(8, "report");
  });

  afterAll(() => bench?.stop());

  it.each(killings([0, 300, 1_200]))(
    "is rolled back once when %j is killed %i ms after its fault was looked for",
    async (parts, ms) => {
      const { program, fleet, chat } = bench;
      const before = new Map(fleet.running());
      const image = `registry.example.com/vedette/sentinel:w${++images}`;
      const { rollout_id: id } = await complete(bench, {
        ...{ image, watch_for: 3_600, on_failure: "rollback" },
      });
      fleet.sicken("gw-0002");
      await check(bench);
      void check(bench);
      await delay(ms);

      await killAndRestart(program, parts);

      await waitFor(
        async () => {
          await check(bench);
          const { body } = await program.call("Status").catch(() => ({ body: {} }));
          return (body as Record<string, unknown>)["outcome"] === "rolled_back";
        },
        { withinMs: 60_000, what: "the rollback" },
      );
      expect(fleet.running()).toEqual(before);
      const titles = () => {
        const known = chat.messages.map(({ metadata, text }) => [metadata.event_payload.id, text]);
        const own = [...new Map(known as [string, string][])].filter(([key]) =>
          key.startsWith(String(id)),
        );
        return own.map(([, text]) => text).filter((text) => /Fault|Rollback/.test(text));
      };
      await waitFor(() => titles().length >= 3, { withinMs: 30_000, what: "all messages" });
      expect(titles()).toEqual(
        ["Fault after the rollout", "Rollback started", "Rollback completed"].map((title) =>
          expect.stringContaining(title),
        ),
      );
    },
  );
});
