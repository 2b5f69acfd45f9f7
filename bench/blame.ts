/**
 * Simulated faults with one cause among innocent changes at the same time, and faults without any: how often the first
 * suspect is the cause, and how often it is among the three, beside naming the latest change. BLAME_FAULTS: of each kind.
 */
import type { Change, Place } from "../src/blame/contract.ts";
import { rank, toRegion } from "../src/blame/rank.ts";
import { countFrom } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const faults = countFrom("BLAME_FAULTS", 4_000);
const concurrent = [1, 2, 5] as const;

const minuteMs = 60_000;
const failedAtMs = 1_000 * 24 * 60 * minuteMs;
const regions = { "eu-west": 40, "us-east": 30, "ap-south": 20, "sa-east": 10 };
const checks = 60;
const keys = 5_000;

type Random = () => number;

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** A check as the world has it; half of those of gateways do not name their region. */
type Check = { id: string; region: string | undefined; usesKey: boolean; usesApi: boolean };

function drawCheck(random: Random): { check: Check; place: Place } {
  const number = Math.floor(random() * checks);
  const region = random() < 0.7 ? pick(random, Object.keys(regions)) : undefined;
  const isNamed = region !== undefined && random() < 0.5;
  const id = `check-${number}`;
  const check = { id, region, usesKey: random() < 0.5, usesApi: region === undefined };
  const place = {
    names: [isNamed ? `${id} gateway-${region}.example.com` : id],
    check: [id],
    key: check.usesKey ? ["own"] : [],
    part: check.usesApi ? ["worker", "api"] : ["worker"],
    delivery: [],
  };
  return { check, place };
}

const kinds = ["wave", "definitions", "keys", "settings", "restart", "routes"] as const;
type Kind = (typeof kinds)[number];

/** The kinds that can break this check: routes only change who is notified. */
function causesOf(check: Check): Kind[] {
  return [
    ...(check.region === undefined ? [] : (["wave", "wave", "wave"] as const)),
    "definitions",
    ...(check.usesKey ? (["keys"] as const) : []),
    ...(check.usesApi ? (["settings", "restart"] as const) : []),
  ];
}

type Drawn = { id: string; kind: Kind; atMs: number; random: Random };

/** `of`: the check that it breaks; undefined: it breaks none. */
function drawChange({ id, kind, atMs, random }: Drawn, of: Check | undefined): Change {
  const base = { id, atMs, who: null, summary: id };
  switch (kind) {
    case "wave":
      return {
        ...base,
        kind: "rollout",
        untilMs: atMs + random() * minuteMs,
        reach: drawWave(random, of),
      };
    case "definitions": {
      const touched = Array.from(
        { length: 1 + Math.floor(random() * 5) },
        () => `check-${Math.floor(random() * checks)}`,
      );
      if (of !== undefined) touched.push(of.id);
      const units = Object.fromEntries(touched.map((check) => [check, 1]));
      return { ...base, kind, reach: { of: "check", touched: units, total: checks } };
    }
    case "keys": {
      const isOwn = of !== undefined || random() < 0.02;
      return {
        ...base,
        kind,
        reach: {
          of: "key",
          touched: isOwn ? { own: 1 } : { others: 1 + Math.floor(random() * 20) },
          total: keys,
        },
      };
    }
    case "settings":
    case "restart": {
      const part = of === undefined ? pick(random, ["api", "control", "worker"]) : "api";
      return { ...base, kind, reach: { of: "part", touched: { [part]: 1 }, total: 3 } };
    }
    case "routes":
      return { ...base, kind, reach: { of: "delivery", touched: { routes: 1 }, total: 1 } };
  }
}

/** Half of the waves are of one region. One that breaks a check touches at least half of the region of it. */
function drawWave(random: Random, of: Check | undefined): Change["reach"] {
  const one = of?.region ?? pick(random, Object.keys(regions));
  const isOfOne = random() < 0.5;
  const named = Object.entries(regions).filter(([region]) => !isOfOne || region === one);
  const share = () => (of === undefined ? 0.05 + 0.95 * random() : 0.5 + 0.5 * random());
  const sizes = Object.fromEntries(
    Object.entries(regions).map(([region, size]) => [toRegion("singleton", region), size]),
  );
  const touched = named.map(([region, size]) => [
    toRegion("singleton", region),
    Math.max(1, Math.round(share() * size)),
  ]);
  return { of: "region", touched: Object.fromEntries(touched), sizes, total: 100 };
}

/** Lognormal: half act within this time, some take ten times as long. Other than the ranking takes it to be. */
const medianMs: Record<Kind, number> = {
  wave: 60_000,
  definitions: 2_000,
  keys: 5_000,
  settings: 20_000,
  restart: 15_000,
  routes: 0,
};

function drawDelay(random: Random, kind: Kind): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return medianMs[kind] * Math.exp(normal);
}

/** At the same time as the cause: most faults come within these minutes. */
const within = 10 * minuteMs;
const everyMs = minuteMs;

type Fault = { place: Place; goodAtMs: number; changes: Change[]; cause: string | undefined };

/** The cause is one of the changes, or none is; the innocent ones are spread over the ten minutes before. */
function drawFault(
  seed: number,
  { changes: count, hasCause }: { changes: number; hasCause: boolean },
): Fault {
  const random = randomFrom(seed);
  const { check, place } = drawCheck(random);
  const sinceBrokenMs = random() * everyMs;
  const innocent = Array.from({ length: hasCause ? count - 1 : count }, (_, i) => {
    const atMs = failedAtMs - random() * within;
    return drawChange({ id: `innocent-${i}`, kind: pick(random, kinds), atMs, random }, undefined);
  });
  const goodAtMs = failedAtMs - everyMs;
  if (!hasCause) return { place, goodAtMs, changes: innocent, cause: undefined };
  const kind = pick(random, causesOf(check));
  const atMs = failedAtMs - sinceBrokenMs - drawDelay(random, kind);
  const cause = drawChange({ id: "cause", kind, atMs, random }, check);
  return { place, goodAtMs, changes: [...innocent, cause], cause: "cause" };
}

type Named = { first: string | undefined; named: readonly string[] };

function byRank({ place, goodAtMs, changes }: Fault): Named {
  const ids = rank({ place, goodAtMs, failedAtMs }, changes).map(({ id }) => id);
  return { first: ids[0], named: ids };
}

function byLatest({ changes }: Fault): Named {
  const ids = changes.toSorted((a, b) => b.atMs - a.atMs).map(({ id }) => id);
  return { first: ids[0], named: ids.slice(0, 3) };
}

const share = (count: number, of: number) => (of === 0 ? 0 : (100 * count) / of);

function measure(name: string, find: (fault: Fault) => Named): Record<string, string> {
  const row: Record<string, string> = {};
  for (const count of concurrent) {
    const drawn = Array.from({ length: faults }, (_, i) =>
      drawFault(i + 1, { changes: count, hasCause: true }),
    );
    const found = drawn.map(find);
    const right = found.filter(({ first }) => first === "cause").length;
    const named = found.filter(({ first }) => first !== undefined).length;
    const recalled = found.filter((one) => one.named.includes("cause")).length;
    const precision = share(right, named);
    const recall = share(recalled, faults);
    row[`${count} ${count === 1 ? "change" : "changes"}: precision`] = `${precision.toFixed(1)} %`;
    row[`${count}: recall`] = `${recall.toFixed(1)} %`;
    if (name !== "ranked") continue;
    const aims = aimsOf[count];
    reportFigure(`first is the cause, ${count}`, precision, { atLeast: aims.precision, unit: "%" });
    reportFigure(`the cause is among three, ${count}`, recall, { atLeast: aims.recall, unit: "%" });
  }
  return row;
}

const aimsOf = {
  1: { precision: 95, recall: 90 },
  2: { precision: 90, recall: 90 },
  5: { precision: 80, recall: 90 },
} as const;

/** Returns the share of faults without a cause for which none is named, in %. */
function measureNone(count: number, find: (fault: Fault) => Named): number {
  const drawn = Array.from({ length: faults }, (_, i) =>
    drawFault(-i - 1, { changes: count, hasCause: false }),
  );
  return share(drawn.filter((fault) => find(fault).first === undefined).length, faults);
}

function measureNothingFits(): Record<string, Record<string, string>> {
  const row = (find: (fault: Fault) => Named) =>
    Object.fromEntries(
      concurrent.map((count) => [`${count} innocent`, `${measureNone(count, find).toFixed(1)} %`]),
    );
  return { ranked: row(byRank), "the latest change": row(byLatest) };
}

/** Median of a rank of 500 changes. */
function measureTime(): void {
  const fault = drawFault(1, { changes: 500, hasCause: true });
  const startedAt = performance.now();
  for (let i = 0; i < 100; i += 1) byRank(fault);
  reportFigure("ranking 500 changes", (performance.now() - startedAt) / 100, {
    atMost: 20,
    unit: "ms",
  });
}

startBench("blame");
reportFigure("faults of each kind", faults);
measureTime();
reportTable(
  "Faults with a cause: the first suspect is right (precision), the cause is among three (recall)",
  {
    ranked: measure("ranked", byRank),
    "the latest change": measure("latest", byLatest),
  },
);
reportTable("Faults without a cause among the changes: none is named", measureNothingFits());
for (const count of concurrent) {
  reportFigure(`nothing fits, ${count} innocent`, measureNone(count, byRank), { unit: "%" });
}
finishBench();
