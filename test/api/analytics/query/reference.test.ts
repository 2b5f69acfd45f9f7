import { expect, it } from "vitest";
import { describeQueries } from "#api/analytics/procedures.ts";
import { retentionFrom } from "#api/analytics/retention.ts";

it("the reference names the tables with how long they are kept, and the columns", () => {
  const text = describeQueries("ratelimits", retentionFrom(30));

  expect(text).toContain("- `ratelimits_v1`, kept for 30 days");
  expect(text).toContain("- `ratelimits_per_minute_v1`, kept for 90 days");
  expect(text).toContain(
    "`ratelimits_v1` has `request_id`, `time`, `workspace_id`, `namespace_id`, `identifier`, `passed`, `latency`, `override_id`, `limit`, `remaining`, `reset_at`, `tokens`;",
  );
  expect(text).toContain("`time`, `workspace_id`, `namespace_id`, `identifier`, `passed`, `total`");
});

it("the reference names the functions that are allowed", () => {
  expect(describeQueries("verifications", undefined)).toContain("`countIf`");
});
