import { describe, expect, it } from "vitest";
import type { Duties } from "#kernel/restate.ts";
import { readRelease } from "#worker/release.ts";
import type { Journals, SentCall, WedgedInvocation } from "#worker/wedged.ts";

const duties: Duties = {
  "Timer/tick": { isCalledAgain: true },
  "Queue/take": { isCalledAgain: true, restoredBy: "goOn" },
  "Queue/wake": { restoredBy: "goOn" },
};

const aWedged = (over: Partial<WedgedInvocation> = {}): WedgedInvocation => ({
  id: "inv_1",
  service: "Timer",
  key: "a",
  handler: "tick",
  parent: null,
  revision: "old",
  ...over,
});

type Child = SentCall & { isBegun: boolean };

const aChild = (over: Partial<Child> = {}): Child => ({
  id: "inv_child",
  service: "Timer",
  key: "a",
  handler: "tick",
  payload: Buffer.from('{"n":2}'),
  atMs: 5_000,
  isBegun: false,
  ...over,
});

/** Journals as the server has them, each with its argument and the calls that it has sent. */
const readerOf = (sent: Record<string, Child[]>) => ({
  journals: async (ids: readonly string[]): Promise<Journals> => ({
    inputs: new Map(ids.map((id) => [id, Buffer.from('{"n":1}')])),
    children: ids.flatMap((id) => sent[id] ?? []),
  }),
});

const callsOf = async (wedged: WedgedInvocation, sent: Record<string, Child[]> = {}) => {
  const { calls } = await readRelease([wedged], { reader: readerOf(sent), duties });
  return calls.map(({ id, handler, payload, atMs }) => {
    return [id, handler, Buffer.from(payload, "base64").toString(), atMs];
  });
};

describe("readRelease", () => {
  it("repeats a call that may be made twice, with its argument", async () => {
    expect(await callsOf(aWedged())).toEqual([["inv_1", "tick", '{"n":1}', 0]]);
  });

  it("only ends a call without a duty", async () => {
    const wedged = aWedged({ handler: "Mute" });

    const order = await readRelease([wedged], { reader: readerOf({}), duties });

    expect(order).toEqual({ calls: [], end: ["inv_1"] });
  });

  it("calls the handler that restores what an ended call left incomplete", async () => {
    const wedged = aWedged({ service: "Queue", handler: "wake" });

    expect(await callsOf(wedged)).toEqual([["inv_1/goOn", "goOn", "{}", 0]]);
  });

  it("keeps a timer that the call had set, at its time", async () => {
    const calls = await callsOf(aWedged(), { inv_1: [aChild()] });

    expect(calls).toContainEqual(["inv_child", "tick", '{"n":2}', 5_000]);
  });

  it("keeps calls sent by a call that ends together with the wedged one", async () => {
    const taking = aChild({ id: "inv_take", service: "Queue", handler: "take", isBegun: true });
    const waking = aChild({ id: "inv_wake", service: "Queue", handler: "wake" });

    const calls = await callsOf(aWedged(), { inv_1: [taking], inv_take: [waking] });

    expect(calls.map(([id]) => id)).toEqual(["inv_1", "inv_take", "inv_take/goOn", "inv_wake"]);
  });
});
