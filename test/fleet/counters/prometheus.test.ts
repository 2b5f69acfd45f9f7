import { expect, it } from "vitest";
import { createReadByQueries } from "#fleet/counters/prometheus.ts";

it("counters by queries have the fleet's ids, no errors where a series lacks them, and ask for what is set", async () => {
  const asked: string[] = [];
  const answers: Record<string, [string, number][]> = {
    all: [
      ["gw-1", 100],
      ["gw-2", 50],
      ["gw-3", Number.NaN],
    ],
    failed: [["gw-1", 3]],
  };
  const read = createReadByQueries(
    { requests: "all", errors: "failed", slow: "", restarts: "", label: "pod" },
    {
      query: async (text, label) => {
        asked.push(`${text} by ${label}`);
        return new Map(answers[text]);
      },
      idOf: (name) => `staging:${name}`,
    },
  );

  const counters = await read(AbortSignal.timeout(1_000));

  expect(asked).toEqual(["all by pod", "failed by pod"]);
  expect([...counters]).toMatchObject([
    ["staging:gw-1", { requests: 100, errors: 3 }],
    ["staging:gw-2", { requests: 50, errors: 0 }],
  ]);
});
