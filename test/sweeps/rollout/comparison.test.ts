/**
 * The comparative gate on 200 sentinels of a fleet behind the http protocol, minute by minute of a fleet's own clock:
 * counters are read by the driver, recorded in a real Postgres, compared, and decided upon as a run does it.
 */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { type Reading, recordMinute } from "#fleet/counters/recorder.ts";
import { createCountStore } from "#fleet/counters/store.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { dueGates, evaluateGate } from "#rollout/conditions/gate.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import { createCompareImages } from "#rollout/gates/compare-images.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import { closeGates, kindOf, withGateReadings } from "#rollout/gates/registry.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { buildHead, buildWave, imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const minute = 60_000;
const startedMs = Date.parse("2026-11-28T12:00:00Z");
const size = 200;
type CompareGate = NamedGate & { kind: "compare" };
const pausing: CompareGate = {
  kind: "compare",
  name: "compare",
  minutes: 30,
  when_inconclusive: "pause",
};
/** Sentinels that have the new image after each wave. */
const waveEnds = [2, 20, 100, 200];

/** The share of requests that fail, in the minute that begins then. */
type ErrorRate = (at: { isNew: boolean; ms: number }) => number;

/** A number from 0 to 1 that only the words decide. */
function draw(...words: (string | number)[]): number {
  return createHash("sha256").update(words.join(" ")).digest().readUInt32BE() / 2 ** 32;
}

/** A draw of a Poisson distribution, by the normal one above 20. */
function countOf(mean: number, ...words: (string | number)[]): number {
  if (mean > 20) {
    const [u, v] = [draw(...words, "u"), draw(...words, "v")];
    const normal = Math.sqrt(-2 * Math.log(u || 1e-9)) * Math.cos(2 * Math.PI * v);
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let [k, rest] = [0, Math.exp(-mean)];
  for (let left = draw(...words); left > rest && k < 100; k += 1) {
    left -= rest;
    rest *= mean / (k + 1);
  }
  return k;
}

async function createScene(seed: string, errorRate: ErrorRate) {
  const clock = { ms: startedMs - 241 * minute };
  const counters = new Map<string, { requests: number; errors: number; slow: number }>();
  const images = new Map<string, string>();
  const fleet = await startFakeFleet({ size, readMetrics: (id) => counters.get(id) ?? {} });
  const driver = createHttpDriver({ url: fleet.url, token: fleet.token });
  onTestFinished(() => fleet.stop());
  onTestFinished(() => driver.stop());
  const ids = [...fleet.running().keys()];
  const store = createCountStore(database());
  let last: Reading | undefined;

  /** Serves requests for a minute, and has it recorded. */
  const serveMinute = async () => {
    for (const id of ids) {
      const before = counters.get(id) ?? { requests: 0, errors: 0, slow: 0 };
      const at = [seed, id, clock.ms];
      const requests = countOf(200 + 200 * draw(seed, id), ...at, "requests");
      const rate = errorRate({ isNew: images.get(id) === imageV2, ms: clock.ms });
      counters.set(id, {
        requests: before.requests + requests,
        errors: before.errors + countOf(requests * rate, ...at, "errors"),
        slow: before.slow + countOf(requests * 0.05, ...at, "slow"),
      });
    }
    clock.ms += minute;
    const signal = AbortSignal.timeout(30_000);
    const read = driver.readCounters ?? (async () => new Map());
    last = await recordMinute({ fleet: seed, store, read }, { at: clock.ms, before: last, signal });
  };
  const update = (wave: number) => {
    for (const id of orderOf(seed, ids).slice(0, waveEnds[wave - 1])) images.set(id, imageV2);
  };
  return { clock, ids, store, serveMinute, update };
}

/** As the plan orders them: by a hash. */
function orderOf(seed: string, ids: readonly string[]): string[] {
  return ids.toSorted((a, b) => draw(seed, "order", a) - draw(seed, "order", b));
}

async function storePlan(rolloutId: string, ids: readonly string[]) {
  await database().query(
    `INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, started_by, current_wave,
       total_waves, total, succeeded, failed, reverted, started_at, updated_at, sequence, policy, waves)
     VALUES ($1, $2, $2, '{1,10,50,100}', 'in_progress', 't', 0, 4, 200, 0, 0, 0, $3, $3, 1, '{}', '[]')`,
    [rolloutId, imageV2, new Date(startedMs)],
  );
  const waves = orderOf(rolloutId, ids).map((_, i) => waveEnds.findIndex((end) => i < end) + 1);
  await database().query(
    `INSERT INTO rollout_sentinels (rollout_id, sentinel_id, wave, previous_image, updated_at, region)
     SELECT $1, id, wave, $4, now(), 'eu' FROM unnest($2::text[], $3::integer[]) AS t (id, wave)`,
    [rolloutId, orderOf(rolloutId, ids), waves, imageV1],
  );
}

/** Rolls out wave by wave until the gate stops it, or the last wave is due. */
async function rollOut(
  seed: string,
  errorRate: ErrorRate,
  when_inconclusive: CompareGate["when_inconclusive"] = "pause",
) {
  const gate: CompareGate = { ...pausing, when_inconclusive };
  const { clock, ids, store, serveMinute, update } = await createScene(seed, errorRate);
  await storePlan(seed, ids);
  while (clock.ms < startedMs) await serveMinute();
  const compareImages = createCompareImages({
    database: database(),
    readCounts: store.read,
    nowMs: () => clock.ms,
  });
  let head = buildHead({
    ...{ rolloutId: seed, fleet: seed, gates: [gate], totalWaves: 4, total: size },
    startedAt: new Date(startedMs).toISOString(),
    waves: waveEnds.map((end, i) =>
      buildWave({ size: end - (waveEnds[i - 1] ?? 0), firstBatch: i }),
    ),
  });
  for (let wave = 1; wave < waveEnds.length; wave += 1) {
    update(wave);
    await serveMinute();
    head = closeWave(head, gate, { wave, nowMs: clock.ms });
    for (;;) {
      await serveMinute();
      head = await read(head, { gate, wave, compareImages, nowMs: clock.ms });
      const verdict = evaluateGate({ ...factsOf(head), nowMs: clock.ms });
      if (verdict.action === "stop") return { wave, verdict, head };
      if (verdict.action === "start") break;
    }
  }
  return { wave: waveEnds.length, verdict: undefined, head };
}

function closeWave(
  head: RolloutHead,
  gate: NamedGate,
  { wave, nowMs }: { wave: number; nowMs: number },
): RolloutHead {
  const since = new Date(nowMs).toISOString();
  return {
    ...head,
    currentWave: wave,
    endedWaves: wave,
    waves: head.waves.map((one, i) => (i < wave ? { ...one, succeeded: one.size } : one)),
    wait: { ended: wave - 1, since, round: 1 },
    gateStatus: closeGates([gate], wave, nowMs),
  };
}

type Reader = {
  gate: NamedGate;
  wave: number;
  compareImages: ReturnType<typeof createCompareImages>;
  nowMs: number;
};

async function read(head: RolloutHead, { gate, wave, compareImages, nowMs }: Reader) {
  const [due] = dueGates(head);
  if (due === undefined || due.dueMs > nowMs) return head;
  const { attempt, compared } = due;
  const facts = {
    ...{ rolloutId: head.rolloutId, fleet: head.fleet ?? "", image: imageV2, wave, waves: 4 },
    ...{ total: size, succeeded: 0, failed: 0, sinceMs: nowMs, attempt },
    ...(compared !== undefined && { compared }),
  };
  const unused = async () => ({ error: "not asked" });
  const tools = {
    compareImages,
    readChecks: async () => [],
    queryPrometheus: unused,
    askWebhook: unused,
  };
  const found = await kindOf(gate).read(gate, tools, facts);
  const gateStatus = withGateReadings(
    head.gateStatus as NonNullable<typeof head.gateStatus>,
    [gate],
    {
      readings: [{ name: gate.name, found }],
      atMs: nowMs,
    },
  );
  const ledger = found !== null && "ledger" in found ? found.ledger : undefined;
  return { ...head, gateStatus, ...(ledger && { ledgers: { [gate.name]: ledger } }) };
}

function factsOf(head: RolloutHead) {
  return {
    head,
    next: nextOf(head),
    wave: head.currentWave - 1,
    windows: [],
    fleet: null,
  } as never as Parameters<typeof evaluateGate>[0];
}

it("an image with 1 % more errors is stopped in the first wave, of two sentinels of 200", async () => {
  const { wave, verdict, head } = await rollOut("worse", ({ isNew }) => (isNew ? 0.011 : 0.001));

  expect(verdict).toMatchObject({ action: "stop", cause: "comparison", isOfImage: true });
  expect(wave).toBe(1);
  const comparison = head.gateStatus?.gates[0]?.comparison;
  expect(comparison).toMatchObject({ verdict: "worse", new_sentinels: 2, old_sentinels: 198 });
  expect(comparison?.total).toBeGreaterThanOrEqual(comparison?.threshold ?? Number.NaN);
  expect(comparison?.points.length).toBeGreaterThan(0);
}, 240_000);

it("an outage that hits both sides stops nothing, in any of the waves", async () => {
  const isOut = (ms: number) => ms > startedMs + 6 * minute && ms < startedMs + 60 * minute;
  const outage: ErrorRate = ({ ms }) => (isOut(ms) ? 0.2 : 0.001);
  const { wave, verdict, head } = await rollOut("outage", outage, "continue");

  expect(verdict).toBeUndefined();
  expect(wave).toBe(waveEnds.length);
  expect(head.ledgers?.["compare"]).toMatchObject({ guard: null, wave: 2 });
  expect(head.ledgers?.["compare"]?.total).toBeLessThan(100);
}, 240_000);
