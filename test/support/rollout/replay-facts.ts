/** Facts of past rollouts for tests of replays: whole, with what a test cares about put over them. */
import type { FactMember, ReplayFacts } from "#rollout/replay/facts.ts";
import { planRollout } from "#rollout/rules/plan.ts";
import { buildFleet, imageV2 } from "./rollout-builders.ts";

export const startMs = Date.parse("2026-01-01T00:00:00.000Z");
const deployMs = 10_000;

type Results = {
  failed?: readonly string[];
  /** Ids with the ms after the result at which they failed after all. */
  strays?: Readonly<Record<string, number>>;
  /** The number of waves that ran; absent: all. */
  waves?: number;
};

/** Waves run one after the other with a gap of `gapMs`, each deploy takes 10 s, `parallel` at once. */
export function buildFacts(
  over: Partial<ReplayFacts> & { size?: number; gapMs?: number; parallel?: number } = {},
  { failed = [], strays = {}, waves: ran = Number.POSITIVE_INFINITY }: Results = {},
): ReplayFacts {
  const { size = 100, gapMs = 0, parallel = 5, ...given } = over;
  const { policy = {}, wavePercentages = [1, 5, 25, 50, 100], image = imageV2 } = given;
  const fleet = buildFleet({ "eu-1": Math.ceil(size / 2), "us-1": Math.floor(size / 2) });
  const { waves } = planRollout(fleet, { image, wavePercentages, policy });
  const byId = new Map(fleet.map((one) => [one.id, one]));
  let nowMs = startMs;
  const members = waves.flatMap((wave, index) => {
    const beginMs = nowMs;
    const planned = wave.members.map(({ id }, i): FactMember => {
      const orderedMs = beginMs + Math.floor(i / parallel) * deployMs;
      const endMs = orderedMs + deployMs;
      nowMs = Math.max(nowMs, endMs);
      const after = strays[id];
      const { region = "", labels = {} } = byId.get(id) ?? {};
      const member = { id, region, labels, wave: index + 1 };
      if (index >= ran) return member;
      const result = { ok: !failed.includes(id), startMs: orderedMs, endMs };
      return { ...member, result, ...(after !== undefined && { stray: { atMs: endMs + after } }) };
    });
    nowMs += gapMs;
    return planned;
  });
  const endedMs = members.reduce((ms, { result }) => Math.max(ms, result?.endMs ?? 0), startMs);
  return {
    rolloutId: "r-1",
    image,
    policy,
    gates: [],
    wavePercentages,
    percentages: waves.map(({ percentage }) => percentage),
    startedMs: startMs,
    endedMs,
    fleetSize: size,
    status: { state: "completed", outcome: "completed", wave: waves.length, waves: waves.length },
    members,
    runs: [],
    runsUntilMs: endedMs + 86_400_000,
    interventions: 0,
    ...given,
  };
}

/** Ids of a wave, from 1, in the order of deploys. */
export function idsOf({ members }: ReplayFacts, wave: number): string[] {
  return members.filter((member) => member.wave === wave).map(({ id }) => id);
}
