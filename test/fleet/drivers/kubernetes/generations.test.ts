import { expect, it } from "vitest";
import { imageMadeOf, splitPods, splitPodsOfSet } from "#fleet/drivers/kubernetes/generations.ts";
import { Pod, ReplicaSet, Revision, Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const metadataOf = (uid: string, owner: string, annotations = {}) => ({
  name: uid,
  namespace: "edge",
  uid,
  resourceVersion: "1",
  annotations,
  ownerReferences: [{ uid: owner, controller: true }],
});

const buildSet = (uid: string, owner: string, revision: number) =>
  ReplicaSet.parse({
    metadata: metadataOf(uid, owner, { "deployment.kubernetes.io/revision": String(revision) }),
  });
const buildPod = (uid: string, owner: string) =>
  Pod.parse({ metadata: metadataOf(uid, owner), spec: { containers: [] } });

it("a Deployment's pods are split by who owns them, and by the newest of its own", () => {
  const sets = [buildSet("s9", "d", 9), buildSet("s10", "d", 10), buildSet("foreign", "other", 11)];
  const pods = [buildPod("old", "s9"), buildPod("new", "s10"), buildPod("theirs", "foreign")];
  const workload = { metadata: ReplicaSet.parse({ metadata: metadataOf("d", "") }).metadata };

  const { present, earlier } = splitPods(workload, sets, pods);

  expect(present.map(({ metadata }) => metadata.uid)).toEqual(["new"]);
  expect(earlier.map(({ metadata }) => metadata.uid)).toEqual(["old"]);
});

it("the present generation is empty before the first of its own", () => {
  const workload = { metadata: ReplicaSet.parse({ metadata: metadataOf("d", "") }).metadata };

  expect(splitPods(workload, [], [buildPod("a", "b")])).toEqual({ present: [], earlier: [] });
});

it("the pods of forty thousand ReplicaSets are split in time", () => {
  const of = (uid: string, owner: string) => ({
    metadata: { uid, annotations: {}, ownerReferences: [{ uid: owner, controller: true }] },
  });
  const sets = Array.from({ length: 40_000 }, (_, n) => of(`s${n}`, "d") as unknown as ReplicaSet);
  const pods = Array.from({ length: 40_000 }, (_, n) => of(`p${n}`, `s${n}`) as unknown as Pod);
  const { user } = process.threadCpuUsage();

  const { present, earlier } = splitPods({ metadata: { uid: "d" } } as Workload, sets, pods);

  expect([present.length, earlier.length]).toEqual([1, 39_999]);
  expect(process.threadCpuUsage().user - user).toBeLessThan(1_000_000);
});

const hash = "controller-revision-hash";
const revisionOf = (
  name: string,
  of: { revision: number; owner?: string; labels?: object; image?: string },
) =>
  Revision.parse({
    metadata: { ...metadataOf(name, of.owner ?? "set"), labels: of.labels ?? {} },
    revision: of.revision,
    ...(of.image && {
      data: {
        spec: { template: { spec: { containers: [{ name: "gateway", image: of.image }] } } },
      },
    }),
  });
const podOf = (uid: string, revision: string, owner = "set") =>
  Pod.parse({
    metadata: { ...metadataOf(uid, owner), labels: { [hash]: revision } },
    spec: { containers: [{ name: "gateway", image: "rewritten" }] },
  });
const setOf = (resource: string, updateRevision = "") =>
  Workload.parse({
    resource,
    metadata: metadataOf("set", ""),
    spec: { selector: {}, template: { spec: { containers: [] } } },
    status: { updateRevision },
  });

it.each([
  ["a StatefulSet by its status", setOf("statefulsets", "gw-b"), ["gw-a", "gw-b"]],
  ["a DaemonSet by its newest revision", setOf("daemonsets"), ["a", "b"]],
])("splits the pods of %s", (_, set, [old = "", present = ""]) => {
  const revisions = [
    revisionOf("gw-b", { revision: 10, labels: { [hash]: "b" } }),
    revisionOf("gw-a", { revision: 9, labels: { [hash]: "a" } }),
    revisionOf("gw-c", { revision: 11, owner: "other", labels: { [hash]: "c" } }),
  ];
  const pods = [podOf("p1", old), podOf("p2", present), podOf("p3", present, "other")];

  const split = splitPodsOfSet(set, revisions, pods);

  expect(split.present.map(({ metadata }) => metadata.uid)).toEqual(["p2"]);
  expect(split.earlier.map(({ metadata }) => metadata.uid)).toEqual(["p1"]);
});

it.each([
  ["its revision's name", "gw-b", "v2"],
  ["its revision's hash", "b", "v2"],
  ["itself when its revision is gone", "x", "rewritten"],
  ["itself when its revision has something else", "gw-a", "rewritten"],
])("tells the image that a pod was made of by %s", (_, revision, image) => {
  const revisions = [
    revisionOf("gw-a", { revision: 1 }),
    revisionOf("gw-b", { revision: 2, labels: { [hash]: "b" }, image: "v2" }),
  ];

  expect(imageMadeOf(podOf("p", revision), { container: "gateway", revisions })).toBe(image);
});
