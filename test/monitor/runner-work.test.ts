/** What a runner takes for work. */
import { expect, it } from "vitest";
import { Work } from "#monitor/locations/contract.ts";
import { anApiCheck } from "../support/monitor/check-builders.ts";

const work = (checks: unknown[]) => ({
  ...{ location: "fra", now_ms: 1, base_url: "https://a.example", services: [], checks },
});

it("a runner's work is as control sends it, without what a run does not need", () => {
  const { channel, ...needed } = anApiCheck({ id: "probe" });

  expect(Work.parse(work([{ ...needed, channel, later: 1 }])).checks).toEqual([needed]);
});

it("the work is refused at the first wrong check, however many follow", () => {
  const { error } = Work.safeParse(work(Array(90_000).fill({})));

  expect(error?.issues).toHaveLength(1);
});

it.each(["headers", "assertions", "locations"])("the work is refused with endless %s", (part) => {
  const { error } = Work.safeParse(work([{ ...anApiCheck(), [part]: Array(90_000).fill(0) }]));

  expect(error?.issues).toMatchObject([{ path: ["checks", 0], message: "too long" }]);
});
