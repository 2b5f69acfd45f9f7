import { expect, it } from "vitest";
import {
  endMsOf,
  findRecord,
  type MemberRecord,
  type MemberRecords,
  readRecords,
  writeRecords,
} from "#fleet/drivers/kubernetes/members/records.ts";
import { Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const metadata = { name: "gw", namespace: "edge", uid: "u1", resourceVersion: "1" };

const setWith = (annotations: object) =>
  Workload.parse({
    metadata: { ...metadata, annotations },
    spec: { selector: {}, template: { spec: { containers: [] } } },
  });

const recordOf = (over: Partial<MemberRecord> = {}): MemberRecord => ({
  id: "d1",
  image: "r.io/gw:v2",
  previous: "r.io/gw:v1",
  container: "gateway",
  atMs: 7,
  ...over,
});

const recordsOf = (members: Record<string, MemberRecord>): MemberRecords => ({
  uid: "u1",
  containers: ["gateway"],
  manager: "vedette",
  members,
});

it("records are read as they were written, of all members", () => {
  const records = recordsOf({
    0: recordOf(),
    "node-b": recordOf({ ended: true, failed: "crash_loop" }),
  });

  expect(readRecords(setWith(writeRecords(records) ?? {}))).toEqual(records);
});

it.each([
  ["there are none", {}],
  ["somebody has broken them", { "vedette.dev/members": "{" }],
  ["they were copied from another set", writeRecords({ ...recordsOf({}), uid: "u2" }) ?? {}],
])("are none when %s", (_, annotations) => {
  expect(readRecords(setWith(annotations))).toBeUndefined();
});

it("have room for those that are open: the oldest that have ended are left out", () => {
  const words = "x".repeat(1_000);
  const ended = Array.from({ length: 200 }, (_, n) => [
    `ended-${n}`,
    recordOf({ atMs: n, failed: words, ended: true }),
  ]);
  const records = recordsOf({ ...Object.fromEntries(ended), open: recordOf() });

  const written = writeRecords(records) ?? {};
  const { members = {} } = readRecords(setWith(written)) ?? {};

  expect(Buffer.byteLength(Object.values(written).join(""))).toBeLessThanOrEqual(131_072);
  expect(members["open"]).toEqual(recordOf());
  expect(members["ended-0"]).toBeUndefined();
  expect(members["ended-199"]).toBeDefined();
});

it("records are not written when even the open ones have no room", () => {
  const open = Array.from({ length: 200 }, (_, n) => [
    `${n}`,
    recordOf({ failed: "é".repeat(500) }),
  ]);

  expect(writeRecords(recordsOf(Object.fromEntries(open)))).toBeUndefined();
});

it("have none for a name that every object knows", () => {
  expect(findRecord(recordsOf({}), "constructor")).toBeUndefined();
});

it.each([
  ["an order", {}, 60_000, 60_007],
  ["a failure, however short deploys are", { failedAtMs: 9 }, 60_000, 600_009],
  ["a failure of a long deploy", { failedAtMs: 9 }, 3_600_000, 3_600_009],
])("give %s its time", (_, over, readyTimeoutMs, endMs) => {
  expect(endMsOf(recordOf(over), readyTimeoutMs)).toBe(endMs);
});
