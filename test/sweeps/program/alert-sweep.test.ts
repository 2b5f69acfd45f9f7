/** A job fails, recovers and flaps while the whole program is killed, in front of a receiver that fails too. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventIdsOf } from "../../support/alerts/alert-builders.ts";
import {
  behaveBadly,
  type Count,
  countFaults,
  createRandom,
  playScenarios,
} from "../../support/alerts/alert-episodes.ts";
import { type AlertReceiver, startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import { type AlertSystem, startVedetteAlerts } from "../../support/alerts/alert-systems.ts";
import { waitFor } from "../../support/wait-for.ts";

const seed = Number(process.env["SWEEP_SEED"] ?? 1);

let receiver: AlertReceiver;
let system: AlertSystem;
let played: Count[];
/** Of the job, in the order of their first arrival. */
let received: string[];
let wanted: string[];

beforeAll(async () => {
  receiver = await startAlertReceiver();
  receiver.behave = behaveBadly(createRandom(seed));
  system = await startVedetteAlerts(receiver);
  played = await playScenarios(system, { rounds: 1, random: createRandom(seed + 1) });
  const { checkId } = system;
  const total = played.reduce((sum, { episodes }) => sum + episodes, 0);
  wanted = eventIdsOf(total, checkId);
  const find = () => {
    const ofJob = receiver.events.filter(({ deduplicationKey }) => deduplicationKey === checkId);
    received = [...new Set(ofJob.map(({ eventId }) => eventId))];
    return received.length >= wanted.length;
  };
  await waitFor(find, { withinMs: 120_000, what: "all events" }).catch(() => {});
}, 900_000);

afterAll(async () => {
  await system?.stop();
  await receiver?.stop();
});

describe("a job's alerts while everything is killed", { retry: 0 }, () => {
  it("are exactly one failure and one recovery per episode, in order", () => {
    expect(received, `seed ${seed}`).toEqual(wanted);
  });

  it("never arrive after newer ones, not even for a second time", () => {
    const late = played.map((count) => countFaults(receiver, system.checkId, count).outOfOrder);

    expect(late, `seed ${seed}`).toEqual(played.map(() => 0));
  });

  it("were well-formed whenever they were sent, and some were sent again", () => {
    expect(receiver.faults).toEqual([]);
    expect(receiver.attemptsAtMs.length).toBeGreaterThan(wanted.length);
  });
});
