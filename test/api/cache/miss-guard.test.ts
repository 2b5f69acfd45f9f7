import { describe, expect, it } from "vitest";
import { type Asker, askerAt, createMissGuard } from "#api/cache/miss-guard.ts";

/** A guard on a clock that stands still, and a database whose answers wait to be let out. */
function setUp() {
  const clock = { nowMs: 0 };
  const guard = createMissGuard(() => clock.nowMs);
  const waiting: (() => void)[] = [];
  const state = { running: 0, most: 0 };
  const load = async (found?: string) => {
    state.running += 1;
    state.most = Math.max(state.most, state.running);
    await new Promise<void>((resolve) => waiting.push(resolve));
    state.running -= 1;
    return found;
  };
  const finish = () => {
    for (const answer of waiting.splice(0)) answer();
  };
  const miss = (asker: Asker) => guard.load(asker, async () => undefined);
  const misses = async (count: number, asker: Asker = ["198.51.100.7"]) => {
    for (let done = 0; done < count; done += 1) await miss(asker);
  };
  return { clock, guard, load, state, finish, misses };
}

/** Lets what has been resolved go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("who asks for keys that there are not", () => {
  it("is over its budget after 200 misses, and has 20 more each second", async () => {
    const { clock, guard, misses } = setUp();

    await misses(200);
    const after200 = guard.isOver(["198.51.100.7"]);
    clock.nowMs = 1_000;
    await misses(20);

    expect(after200).toBe(true);
    expect(guard.isOver(["198.51.100.7"])).toBe(true);
    clock.nowMs = 1_050;
    expect(guard.isOver(["198.51.100.7"])).toBe(false);
  });

  it("does not use up what another address has", async () => {
    const { guard, misses } = setUp();

    await misses(300);

    expect(guard.isOver(["198.51.100.8"])).toBe(false);
  });

  it("uses up nothing by keys that there are", async () => {
    const { guard } = setUp();

    for (let done = 0; done < 500; done += 1) await guard.load(["a"], async () => "key");

    expect(guard.isOver(["a"])).toBe(false);
  });

  it("uses up nothing while the database is away", async () => {
    const { guard } = setUp();
    const failing = () => guard.load(["a"], () => Promise.reject(new Error("away")));

    for (let done = 0; done < 300; done += 1) await failing().catch(() => {});

    expect(guard.isOver(["a"])).toBe(false);
  });

  it("has two of the pool's connections at most once it is over its budget", async () => {
    const { guard, load, state, finish, misses } = setUp();
    await misses(200);

    const asked = Array.from({ length: 50 }, () => guard.load(["198.51.100.7"], () => load()));
    await settle();
    const most = state.most;
    while (state.running > 0) {
      finish();
      await settle();
    }
    await Promise.all(asked);

    expect(most).toBe(2);
    expect(state.most).toBe(2);
  });

  it("is refused none of the keys that there are, however many it asks for in one moment", async () => {
    const { guard, load, state, finish } = setUp();

    const asked = Array.from({ length: 3_000 }, () => guard.load(["a"], () => load("key")));
    await settle();
    while (state.running > 0) {
      finish();
      await settle();
    }

    expect(new Set(await Promise.all(asked))).toEqual(new Set(["key"]));
    expect(state.most).toBe(200);
    expect(guard.isOver(["a"])).toBe(false);
  });

  it("is over its budget as soon as what it asked for in one moment was not found", async () => {
    const { guard, load, state, finish } = setUp();

    const asked = Array.from({ length: 1_000 }, () => guard.load(["a"], () => load()));
    const answers = Promise.allSettled(asked);
    await settle();
    finish();
    await settle();
    const running = state.running;
    while (state.running > 0) {
      finish();
      await settle();
    }

    const refused = (await answers).filter(({ status }) => status === "rejected");
    expect(running).toBe(2);
    expect(refused.length).toBe(598);
  });

  it("is refused when 5,000 wait for the database and 200 more for those", async () => {
    const { guard, load } = setUp();
    for (let count = 0; count < 5_402; count += 1) void guard.load(["a"], () => load());

    await expect(guard.load(["a"], () => load())).rejects.toMatchObject({ status: 429 });
  });

  it("is still answered by a key that there is, when its turn comes", async () => {
    const { guard, misses } = setUp();
    await misses(250);

    expect(await guard.load(["198.51.100.7"], async () => "key")).toBe("key");
  });

  it("is refused when 200 wait already", async () => {
    const { guard, load, misses } = setUp();
    await misses(200);
    for (let count = 0; count < 202; count += 1) void guard.load(["198.51.100.7"], () => load());

    await expect(guard.load(["198.51.100.7"], () => load())).rejects.toMatchObject({
      status: 429,
      headers: { "Retry-After": "1" },
    });
  });

  it("shares a budget with everyone, who together use up no more than 1,000 at once", async () => {
    const { guard, misses } = setUp();

    for (let asker = 0; asker < 20; asker += 1) await misses(50, [`10.0.0.${asker}`]);

    expect(guard.isOver(["10.0.0.99"])).toBe(true);
  });

  it("uses up by itself nothing of what everyone shares but its own budget", async () => {
    const { guard, misses } = setUp();

    await misses(3_000);

    expect(guard.isOver(["198.51.100.8"])).toBe(false);
  });

  it("keeps room for others who share a budget with those that are still asked for", async () => {
    const { guard, load, state, finish } = setUp();
    const group = "workspace ws_1";
    for (let client = 0; client < 10; client += 1) {
      for (let count = 0; count < 100; count += 1) {
        void guard.load([`${client}`, group], () => load("key"));
      }
    }
    const asked = guard.load(["another", group], () => load("key"));
    await settle();
    const most = state.most;
    while (state.running > 0) {
      finish();
      await settle();
    }

    expect(most).toBe(500);
    expect(await asked).toBe("key");
  });

  it("keeps nobody waiting who only shares a budget that is used up", async () => {
    const { guard, load, misses } = setUp();
    await misses(200);
    for (let asker = 0; asker < 20; asker += 1) await misses(50, [`10.0.0.${asker}`]);
    for (let count = 0; count < 202; count += 1) void guard.load(["198.51.100.7"], () => load());

    expect(await guard.load(["10.0.0.99"], async () => "key")).toBe("key");
  });
});

describe("those for whom a gateway asks", () => {
  it("have a budget each", async () => {
    const { guard, misses } = setUp();

    await misses(3_000, ["198.51.100.7 of workspace ws_1", "workspace ws_1"]);

    expect(guard.isOver(["198.51.100.7 of workspace ws_1", "workspace ws_1"])).toBe(true);
    expect(guard.isOver(["198.51.100.8 of workspace ws_1", "workspace ws_1"])).toBe(false);
  });

  it("use up no more than 500 together, however many the gateway makes up", async () => {
    const { guard, misses } = setUp();

    for (let client = 0; client < 40; client += 1) {
      await misses(50, [`${client} of workspace ws_1`, "workspace ws_1"]);
    }

    expect(guard.isOver(["another of workspace ws_1", "workspace ws_1"])).toBe(true);
    expect(guard.isOver(["another of workspace ws_2", "workspace ws_2"])).toBe(false);
  });

  it("make nobody else's used budget new, however many the gateway makes up", async () => {
    const { guard, misses } = setUp();
    const ofOthers: Asker[] = [["198.51.100.7"], ["a of workspace ws_2", "workspace ws_2"]];
    for (const asker of ofOthers) await misses(200, asker);

    for (let client = 0; client < 20_000; client += 1) {
      guard.isOver([`${client} of workspace ws_1`, "workspace ws_1"]);
    }

    expect(ofOthers.map((asker) => guard.isOver(asker))).toEqual([true, true]);
  });
});

it.each([
  ["198.51.100.7", "198.51.100.7"],
  ["::ffff:198.51.100.7", "198.51.100.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["x".repeat(10_000), "elsewhere"],
])("the asker at %s is %s", (address, asker) => {
  expect(askerAt(address)).toBe(asker);
});
