/** Simulated fleets for the comparison: counts of each sentinel and minute, from a seed. */
import type { History } from "../src/rollout/comparison/contract.ts";

export type Scenario = {
  /** Requests a minute of a sentinel, on average. */
  requests?: number;
  /** Waves through the week and the day, sentinels of very different size, bursts of one sentinel and of a region. */
  weekly?: boolean;
  /** An outage of one region, old and new alike, in so many of the waves. */
  outages?: number;
  /** The first waves take one region after the other. */
  regionFirst?: boolean;
  /** New processes are slow for so many minutes. */
  slowStart?: number;
  /** Errors of the old image, as a share. */
  oldErrors?: number;
  /** Factors by which the new image multiplies. */
  times?: { errors?: number; slow?: number; restarts?: number };
  /** Restarts a minute that the new image adds. */
  restarts?: number;
};

export type Plan = { sentinels: number; waves: readonly number[]; soakMinutes: number };

const minuteMs = 60_000;
const pastMinutes = 240;
/** Of a deploy of a wave. */
const deployMinutes = 2;
const warmupMinutes = 3;
const regions = 4;
/** +20 % latency at a log deviation of 0.8 makes 5 % slow requests 7.9 %. */
const slowShare = 0.045;

export type Random = { uniform(): number; normal(): number; poisson(mean: number): number };

/** A generator of pseudorandom numbers that repeats with its seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const poisson = (mean: number) => {
    if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()));
    const limit = Math.exp(-mean);
    let n = 0;
    for (let product = uniform(); product > limit; product *= uniform()) n += 1;
    return n;
  };
  return { uniform, normal, poisson };
}

/** Minutes of trouble: by how much errors and slow requests are multiplied then. */
type Bursts = Float64Array;

/** Returns a whole rollout of the fleet, with the end of the last wave's soak as `now`. */
export function simulate(
  scenario: Scenario,
  plan: Plan,
  seed: number,
): { history: History; now: number } {
  const random = createRandom(seed);
  const { sentinels, waves, soakMinutes } = plan;
  const ofWave = deployMinutes + warmupMinutes + soakMinutes;
  const minutes = pastMinutes + waves.length * ofWave;
  const first = 1_800_000_000_000 - (1_800_000_000_000 % minuteMs);
  const phase = random.uniform() * 7 * 1440;
  const inRegions = Array.from({ length: regions }, (_, region) => ({
    bursts: createBursts(random, minutes, scenario, region),
  }));
  const updated = drawUpdates(random, plan, scenario);
  const fleet = Array.from({ length: sentinels }, (_, i) => {
    const wave = updated[i] ?? -1;
    const at = wave < 0 ? Number.POSITIVE_INFINITY : pastMinutes + wave * ofWave + deployMinutes;
    const region = i % regions;
    const readings = count(random, scenario, {
      minutes,
      phase,
      newFrom: at,
      ofRegion: inRegions[region]?.bursts as Bursts,
    });
    return {
      id: `s${i}`,
      region: `r${region}`,
      updated_at: wave < 0 ? null : first + at * minuteMs,
      ...readings,
    };
  });
  const settled = waves.map((_, wave) => ({
    settled_at: first + (pastMinutes + wave * ofWave + deployMinutes) * minuteMs,
  }));
  const started_at = first + pastMinutes * minuteMs;
  const rollout = { started_at, soak_minutes: soakMinutes, waves: settled };
  return {
    history: { first_minute: first, rollout, sentinels: fleet },
    now: first + minutes * minuteMs,
  };
}

/** The wave of each sentinel that is updated: in proportion over the regions, or one region after the other. */
function drawUpdates(random: Random, { sentinels, waves }: Plan, { regionFirst }: Scenario) {
  const order = Array.from({ length: sentinels }, (_, i) => i)
    .map((i) => ({ i, key: (regionFirst ? (i % regions) * 2 : 0) + random.uniform() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ i }) => i);
  const updated: number[] = [];
  for (const [wave, until] of waves.entries()) {
    for (const i of order.slice(wave === 0 ? 0 : waves[wave - 1], until)) updated[i] = wave;
  }
  return updated;
}

function createBursts(random: Random, minutes: number, scenario: Scenario, region: number) {
  const bursts = new Float64Array(minutes).fill(1);
  const { weekly = false, outages = 0 } = scenario;
  if (weekly) addBursts(random, bursts, { each: 1_500, most: 10 });
  if (region !== 0) return bursts;
  for (let n = 0; n < outages; n += 1) {
    const from = pastMinutes + Math.floor(random.uniform() * (minutes - pastMinutes));
    bursts.fill(50, from, from + 5 + Math.floor(random.uniform() * 20));
  }
  return bursts;
}

/** Bursts on average `each` so many minutes, of a size with a heavy tail, for some minutes. */
function addBursts(
  random: Random,
  bursts: Bursts,
  { each, most }: { each: number; most: number },
): void {
  for (let at = 0; ; ) {
    at += Math.ceil(-Math.log(1 - random.uniform()) * each);
    if (at >= bursts.length) return;
    const size = Math.min(most, 2 * (1 - random.uniform()) ** (-1 / 1.2));
    const end = Math.min(bursts.length, at + 2 + Math.ceil(-Math.log(1 - random.uniform()) * 12));
    for (; at < end; at += 1) bursts[at] = (bursts[at] as number) * size;
  }
}

function count(
  random: Random,
  scenario: Scenario,
  {
    minutes,
    phase,
    newFrom,
    ofRegion,
  }: { minutes: number; phase: number; newFrom: number; ofRegion: Bursts },
) {
  const { requests = 500, weekly = false, oldErrors = 0.001 } = scenario;
  const own = {
    load: requests * Math.exp((weekly ? 0.8 : 0.3) * random.normal()),
    errors: oldErrors * Math.exp((weekly ? 0.6 : 0.2) * random.normal()),
    slow: slowShare * Math.exp((weekly ? 0.3 : 0.1) * random.normal()),
  };
  const bursts = new Float64Array(minutes).fill(1);
  if (weekly) addBursts(random, bursts, { each: 400, most: 40 });
  const made = {
    requests: new Float64Array(minutes),
    errors: new Float64Array(minutes),
    slow: new Float64Array(minutes),
    restarts: new Float64Array(minutes),
  };
  for (let m = 0; m < minutes; m += 1) {
    const isNew = m >= newFrom;
    const trouble = (bursts[m] as number) * (ofRegion[m] as number);
    const n = random.poisson(own.load * (weekly ? waveAt(m + phase) : 1));
    const { errors, slow, restarts } = isNew ? timesOfNew(scenario, m - newFrom) : same;
    const draw = (share: number) => Math.min(n, random.poisson(n * Math.min(0.9, share)));
    made.requests[m] = n;
    made.errors[m] = draw(own.errors * trouble * errors);
    made.slow[m] = draw(own.slow * Math.sqrt(trouble) * slow);
    made.restarts[m] = random.poisson(restarts / 2_880 + (isNew ? (scenario.restarts ?? 0) : 0));
  }
  return made;
}

const same = { errors: 1, slow: 1, restarts: 1 };

/** Factors by which the new image multiplies, so many minutes after its start. */
function timesOfNew({ times = {}, slowStart = 0 }: Scenario, minute: number) {
  const { errors = 1, slow = 1, restarts = 1 } = times;
  return { errors, slow: minute < slowStart ? slow * 8 : slow, restarts };
}

/** The load through the day and the week. */
function waveAt(minute: number): number {
  const turns = 2 * Math.PI * minute;
  return 1 + 0.5 * Math.sin(turns / 1_440) + 0.15 * Math.sin(turns / 10_080);
}
