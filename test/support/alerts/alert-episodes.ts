/** Episodes of a check that a system goes through while it is killed, and what its receiver saw of them. */
import { setTimeout as delay } from "node:timers/promises";
import type { AlertReceiver, Answer, ReceivedEvent } from "./alert-receiver.ts";
import type { AlertSystem, CheckState } from "./alert-systems.ts";

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Takes six requests in ten; the others end in each of the ways in which a service can fail. */
export function behaveBadly(random: () => number): () => Answer {
  const trouble: readonly Answer[] = [
    { status: 500 },
    { status: 429, headers: { "retry-after": "1" } },
    "hang",
    "reset",
    "lost",
  ];
  return () => {
    const number = random();
    return number < 0.6 ? "accept" : (trouble[Math.floor((number - 0.6) * 12.5)] ?? "accept");
  };
}

type Episode = (system: AlertSystem, episode: number, random: () => number) => Promise<void>;

const holdMs = 1_500;

/** Each is one episode, but for the last, which is four. */
const scenarios = {
  "nothing is killed": async (system, episode) => {
    await system.report("failed", episode);
    await hold(system, "failed");
    await system.report("ok", episode);
  },
  "killed just after the failure": async (system, episode, random) => {
    await system.report("failed", episode);
    await delay(random() * 300);
    await killAndRestart(system);
    await hold(system, "failed");
    await system.report("ok", episode);
  },
  "killed, and recovers meanwhile": async (system, episode) => {
    await system.report("failed", episode);
    await hold(system, "failed");
    system.kill9();
    const reported = system.report("ok", episode);
    await system.restart();
    await reported;
  },
  "killed just after the recovery": async (system, episode, random) => {
    await system.report("failed", episode);
    await hold(system, "failed");
    await system.report("ok", episode);
    await delay(random() * 300);
    await killAndRestart(system);
  },
  "flaps four times, killed in between": async (system, first, random) => {
    for (let i = 0; i < 4; i += 1) {
      await system.report("failed", first + i);
      if (i === 2) {
        await delay(random() * 200);
        await killAndRestart(system);
      }
      await system.untilShown("failed");
      await system.report("ok", first + i);
      await system.untilShown("ok");
    }
  },
} as const satisfies Record<string, Episode>;

type ScenarioName = keyof typeof scenarios;

const scenarioNames = Object.keys(scenarios) as ScenarioName[];

/** A while in which the check stays so, and the system knows it. */
async function hold(system: AlertSystem, state: CheckState): Promise<void> {
  await system.untilShown(state);
  await delay(holdMs);
}

async function killAndRestart(system: AlertSystem): Promise<void> {
  system.kill9();
  await system.restart();
}

export type Count = { scenario: ScenarioName; first: number; episodes: number };

/** Plays each scenario so many times, one after the other. Answers which episodes were whose. */
export async function playScenarios(
  system: AlertSystem,
  { rounds, random }: { rounds: number; random: () => number },
): Promise<Count[]> {
  const played: Count[] = [];
  let next = 1;
  for (const scenario of scenarioNames) {
    const first = next;
    for (let round = 0; round < rounds; round += 1) {
      await scenarios[scenario](system, next, random);
      await hold(system, "ok");
      next += scenario === "flaps four times, killed in between" ? 4 : 1;
    }
    played.push({ scenario, first, episodes: next - first });
  }
  return played;
}

export type Verdict = {
  episodes: number;
  lostFailures: number;
  lostRecoveries: number;
  /** Deliveries of an event that had arrived already. */
  repeated: number;
  /** Of these, without the answer to an earlier one having been lost by the receiver. */
  repeatedUnasked: number;
  /** Recoveries before their failure, and events after a newer one. */
  outOfOrder: number;
};

/** What became of episodes `first` and so on. */
export function countFaults(receiver: AlertReceiver, checkId: string, count: Count): Verdict {
  const { first, episodes } = count;
  const numbers = Array.from({ length: episodes }, (_, i) => first + i);
  const idsOf = (kind: string) => numbers.map((number) => `${checkId}:${number}:${kind}`);
  const [opened, resolved] = [idsOf("opened"), idsOf("resolved")];
  const wanted = numbers.flatMap((_, i) => [opened[i] ?? "", resolved[i] ?? ""]);
  const received = receiver.events.filter(({ eventId }) => wanted.includes(eventId));
  const isLost = (id: string) => !received.some(({ eventId }) => eventId === id);
  const places = received.map(({ eventId }) => wanted.indexOf(eventId));
  const isLate = (place: number, i: number) =>
    places.slice(0, i).some((earlier) => earlier > place) ||
    (place % 2 === 1 && !places.slice(0, i).includes(place - 1));
  return {
    episodes,
    lostFailures: opened.filter(isLost).length,
    lostRecoveries: resolved.filter(isLost).length,
    repeated: received.length - new Set(places).size,
    repeatedUnasked: countUnasked(received),
    outOfOrder: places.filter(isLate).length,
  };
}

function countUnasked(received: readonly ReceivedEvent[]): number {
  const answered = new Set<string>();
  let unasked = 0;
  for (const { eventId, isAnswered } of received) {
    if (answered.has(eventId)) unasked += 1;
    if (isAnswered) answered.add(eventId);
  }
  return unasked;
}
