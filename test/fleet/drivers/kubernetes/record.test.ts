import { expect, it } from "vitest";
import { isOpen, readRecord, writeRecord } from "#fleet/drivers/kubernetes/record.ts";
import { Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const metadata = { name: "gw", namespace: "edge", uid: "u1", resourceVersion: "1" };
const record = {
  id: "d1",
  uid: "u1",
  image: "r.io/gw:v2",
  previous: "r.io/gw:v1",
  container: "gateway",
  manager: "vedette",
  atMs: 7,
};

const workloadWith = (annotations: object) =>
  Workload.parse({
    metadata: { ...metadata, annotations },
    spec: { selector: {}, template: { spec: { containers: [] } } },
  });

it.each([{}, { failed: "crash_loop" }, { done: true }])(
  "a record is read as it was written: %j",
  (end) => {
    const written = { ...record, ...end };

    expect(readRecord(workloadWith(writeRecord(written)))).toEqual(written);
    expect(isOpen(written)).toBe(Object.keys(end).length === 0);
  },
);

it.each([
  ["there is none", {}],
  ["somebody has broken it", { "vedette.dev/deploy": "{" }],
  ["it lacks something", { "vedette.dev/deploy": '{"id":"d1"}' }],
  ["it was copied from another Deployment", writeRecord({ ...record, uid: "u2" })],
])("is none when %s", (_, annotations) => {
  expect(readRecord(workloadWith(annotations))).toBeUndefined();
});
