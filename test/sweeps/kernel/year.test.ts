/** All times of 2026 of many expressions, in zones whose clocks change in several ways, against the real programs. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { cronDialects } from "#kernel/cron-expression.ts";
import { findCronFault, timeAfter } from "#kernel/cron-times.ts";
import made from "./year/times.json" with { type: "json" };

/** How many times they found, and a digest of them; `year/make.sh` asks them. */
const years: Record<string, Record<string, Record<string, string>>> = made;
const expressions = new Set(
  Object.values(years).flatMap((dialects) => Object.values(dialects).flatMap(Object.keys)),
);

const fromMs = Date.parse("2025-12-31T23:59:59Z");
const toMs = Date.parse("2027-01-01T00:00:00Z");

describe.each(Object.keys(years))("in %s", (timezone) => {
  it.each(cronDialects)("the times of a year are those of %s", (dialect) => {
    const found = [...expressions].flatMap((expression) => {
      const times = { expression, timezone, dialect };
      if (findCronFault(times) !== null) return [];
      const next = (ms: number) => timeAfter(times, ms) ?? toMs;
      const minutes: string[] = [];
      for (let ms = next(fromMs); ms < toMs; ms = next(ms)) minutes.push(`${ms / 60_000}\n`);
      const digest = createHash("sha256").update(minutes.join("")).digest("hex").slice(0, 16);
      return minutes.length === 0 ? [] : [[expression, `${minutes.length} ${digest}`]];
    });

    expect(Object.fromEntries(found)).toEqual(years[timezone]?.[dialect]);
  });
});
