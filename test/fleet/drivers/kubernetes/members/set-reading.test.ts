import { expect, it } from "vitest";
import { writeRecords } from "#fleet/drivers/kubernetes/members/records.ts";
import {
  buildSetReading,
  livingPod,
  membersOf,
} from "#fleet/drivers/kubernetes/members/set-reading.ts";
import { Pod, Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const metadata = { namespace: "edge", uid: "u1", resourceVersion: "1" };

function buildSet(resource: "statefulsets" | "daemonsets", spec: object = {}, annotations = {}) {
  return Workload.parse({
    resource,
    metadata: { ...metadata, name: "gw", annotations },
    spec: { selector: {}, template: { spec: { containers: [] } }, ...spec },
  });
}

const buildPod = (name: string, spec: object = {}, more: object = {}) =>
  Pod.parse({
    metadata: { ...metadata, name, uid: name, ...more },
    spec: { containers: [], ...spec },
  });

const membersWith = (set: Workload, pods: Pod[]) =>
  membersOf(buildSetReading(set, { pods, revisions: [] }));

it.each([
  [{ replicas: 3 }, ["0", "1", "2"]],
  [{}, ["0"]],
  [{ replicas: 2, ordinals: { start: 5 } }, ["5", "6"]],
  [{ replicas: 0 }, []],
])("the members of a StatefulSet are its ordinals, with a pod or without: %j", (of, members) => {
  expect(membersWith(buildSet("statefulsets", of), [buildPod("gw-9")])).toEqual(members);
});

it("a StatefulSet of a server that lies has no more members than can be kept", () => {
  expect(membersWith(buildSet("statefulsets", { replicas: 1e12 }), [])).toHaveLength(5_000);
});

it("the members of a DaemonSet are the nodes of its pods, and those whose pod is being replaced", () => {
  const wanted = [{ matchFields: [{ key: "metadata.name", values: ["node-c"] }] }];
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: wanted } },
  };
  const record = { id: "d", image: "v2", previous: "v1", container: "gw", atMs: 0 };
  const records = {
    uid: "u1",
    containers: [],
    manager: "vedette",
    members: { "node-a": record, "node-z": { ...record, ended: true } },
  };
  const set = buildSet("daemonsets", {}, writeRecords(records));

  const members = membersWith(set, [
    buildPod("x", { nodeName: "node-b" }),
    buildPod("y", { affinity }),
    buildPod("odd", { affinity: { nodeAffinity: {} } }),
  ]);

  expect(members).toEqual(["node-a", "node-b", "node-c"]);
});

it.each([
  ["is about to end", { deletionTimestamp: "2026-01-01T00:00:00Z" }, "Running"],
  ["has failed for good", {}, "Failed"],
  ["has ended well", {}, "Succeeded"],
])("the pod of a member is the one that lasts, not one that %s", (_, more, phase) => {
  const old = buildPod("old", { nodeName: "a" }, more);
  const ending = { ...old, status: { ...old.status, phase } };
  const pods = [buildPod("new", { nodeName: "a" }), ending];

  for (const given of [pods, pods.toReversed()]) {
    const reading = buildSetReading(buildSet("daemonsets"), { pods: given, revisions: [] });
    expect(reading.pods.get("a")?.metadata.name).toBe("new");
  }
});

it("a node keeps its member while its only pod has ended for good", () => {
  const pod = buildPod("gw-x", { nodeName: "a" });
  const ended = { ...pod, status: { ...pod.status, phase: "Failed" } };
  const reading = buildSetReading(buildSet("daemonsets"), { pods: [ended], revisions: [] });

  expect([membersOf(reading), livingPod(reading, "a")]).toEqual([["a"], undefined]);
});
