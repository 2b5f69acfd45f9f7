import { expect, it } from "vitest";
import { readRecord, writeRecord } from "#fleet/drivers/kubernetes/record.ts";

const record = { id: "d1", image: "r.io/gw:v2", previous: "r.io/gw:v1", atMs: 7 };

it("is read as it was written, a failed one too", () => {
  expect(readRecord(writeRecord(record))).toEqual(record);
  expect(readRecord(writeRecord({ ...record, failed: "crash_loop" }))).toMatchObject({
    failed: "crash_loop",
  });
});

it.each([
  ["there is none", {}],
  ["somebody has broken it", { "vedette.dev/deploy": "{" }],
  ["it lacks something", { "vedette.dev/deploy": '{"id":"d1"}' }],
])("is none when %s", (_, annotations) => {
  expect(readRecord(annotations)).toBeUndefined();
});
