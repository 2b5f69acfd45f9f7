import { expect, it } from "vitest";
import { selectorOf } from "#fleet/drivers/kubernetes/pod-calls.ts";

it("selectorOf writes a selector as a query has it", () => {
  const selector = selectorOf({
    matchLabels: { app: "gw", tier: "" },
    matchExpressions: [
      { key: "zone", operator: "In", values: ["a", "b"] },
      { key: "zone", operator: "NotIn", values: ["c"] },
      { key: "live", operator: "Exists", values: [] },
      { key: "old", operator: "DoesNotExist", values: [] },
    ],
  });

  expect(selector).toBe("app=gw,tier=,zone in (a,b),zone notin (c),live,!old");
});
