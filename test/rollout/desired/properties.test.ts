/** 2,000 sentinels that are changed behind Vedette's back, over three hours, with a reconciler that is killed at any moment. */
import { expect, it } from "vitest";
import { leaveOut } from "#rollout/choice/leave-out.ts";
import { planConvergence, recordTries, type TriesByImage } from "#rollout/desired/converge.ts";
import { type Drift, findDesired, findDrift, type KnownMember } from "#rollout/desired/drift.ts";

const v1 = "registry.example.com/team/gateway:v1";
const v2 = "registry.example.com/team/gateway:v2";
const minuteMs = 60_000;
const mostUnavailable = 20;

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
function createRandom(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function simulate(seed: number) {
  const random = createRandom(seed);
  const members = new Map<string, KnownMember>();
  for (let i = 0; i < 2_000; i += 1) {
    const id = `s${i}`;
    const region = ["eu", "us", "ap"][i % 3] ?? "";
    members.set(id, {
      ...{ id, region, image: v2, running_image: v2, health: "healthy" },
      joinedAtMs: 0,
    });
  }
  const pins = [{ id: "hold", ids: Array.from({ length: 40 }, (_, i) => `s${i}`), reason: "held" }];
  const history = { id: "r", image: v2, startedAtMs: 1, outcome: "completed", policy: {} } as const;
  const rollouts = [{ ...history, leftAllOut: false, isUnattended: false }];
  // It survives a kill: as text, as it is stored.
  let stored = JSON.stringify({ known: [] as Drift[], tries: {} as TriesByImage });
  let listedAtMs = 0;
  let listed: KnownMember[] = [];
  let inFlight: string[] = [];
  let mostInFlight = 0;
  const orders = new Map<string, number[]>();
  const changes = new Map<string, number>();

  const change = (nowMs: number) => {
    for (const member of members.values()) {
      if (random() > 0.05) continue;
      const kind = Math.floor(random() * 3);
      const running_image = kind === 0 ? "" : v1;
      const joinedAtMs = kind === 1 ? nowMs : member.joinedAtMs;
      members.set(member.id, { ...member, running_image, joinedAtMs });
      changes.set(member.id, nowMs);
    }
  };
  const deploy = () => {
    const slots = inFlight.splice(0, mostUnavailable);
    mostInFlight = Math.max(mostInFlight, slots.length);
    for (const id of slots) {
      const member = members.get(id);
      // One of twenty fails, and is tried again later.
      if (member !== undefined && random() > 0.05)
        members.set(id, { ...member, running_image: v2 });
    }
  };
  const check = (nowMs: number) => {
    const { known, tries } = JSON.parse(stored) as { known: Drift[]; tries: TriesByImage };
    const desired = findDesired(listed, { rollouts, results: new Map() });
    const before = new Map(known.map((one) => [one.id, one]));
    const found = findDrift(desired, listed, { known: before, listedAtMs });
    const held = new Set(leaveOut(listed, { pins, nowMs }).leftOut.map(({ id }) => id));
    const drifts = found.map((one) => ({ ...one, isHeld: held.has(one.id) }));
    const state = inFlight.length > 0 ? "in_progress" : "completed";
    const plan = planConvergence({ drifts, tries, state, nowMs });
    // Killed before its decision was written: nothing of it is known.
    if (random() < 0.3) return;
    stored = JSON.stringify({
      known: found,
      tries: recordTries(tries, { drifts: found, plan, nowMs }),
    });
    if (plan === undefined) return;
    inFlight = plan.ids;
    for (const id of plan.ids) orders.set(id, [...(orders.get(id) ?? []), nowMs]);
  };

  for (let minute = 1; minute <= 200; minute += 1) {
    const nowMs = minute * minuteMs;
    if (minute === 5 || minute === 60) change(nowMs);
    deploy();
    // The fleet answers late, or not at all.
    if (random() > 0.2) {
      listedAtMs = nowMs;
      listed = [...members.values()];
    }
    check(nowMs);
  }
  return {
    members,
    orders,
    changes,
    mostInFlight,
    isHeld: (id: string) => pins[0]?.ids.includes(id),
  };
}

it.each([1, 2])("2,000 sentinels converge, held ones are untouched (seed %i)", (seed) => {
  const { members, orders, changes, mostInFlight, isHeld } = simulate(seed);

  const wrong = [...members.values()].filter(
    ({ id, running_image: runs }) => runs !== v2 && !isHeld(id),
  );
  expect(wrong).toEqual([]);
  expect([...orders.keys()].filter(isHeld)).toEqual([]);
  expect([...orders.keys()].filter((id) => !changes.has(id))).toEqual([]);
  expect(mostInFlight).toBeLessThanOrEqual(mostUnavailable);
  expect(orders.size).toBeGreaterThan(100);
});

it("nobody is ordered again before the pause after the order before is over", () => {
  const { orders } = simulate(4);

  const pauses = [...orders.values()].flatMap((times) =>
    times.slice(1).map((at, i) => at - (times[i] ?? 0)),
  );
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5 * minuteMs);
});
