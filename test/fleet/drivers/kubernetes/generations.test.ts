import { expect, it } from "vitest";
import { splitPods } from "#fleet/drivers/kubernetes/generations.ts";
import { Pod, ReplicaSet } from "#fleet/drivers/kubernetes/schemas.ts";

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

it("splits by who owns them, and by the newest of its own", () => {
  const sets = [buildSet("s9", "d", 9), buildSet("s10", "d", 10), buildSet("foreign", "other", 11)];
  const pods = [buildPod("old", "s9"), buildPod("new", "s10"), buildPod("theirs", "foreign")];
  const workload = { metadata: ReplicaSet.parse({ metadata: metadataOf("d", "") }).metadata };

  const { present, earlier } = splitPods(workload, sets, pods);

  expect(present.map(({ metadata }) => metadata.uid)).toEqual(["new"]);
  expect(earlier.map(({ metadata }) => metadata.uid)).toEqual(["old"]);
});

it("is empty before the first of its own", () => {
  const workload = { metadata: ReplicaSet.parse({ metadata: metadataOf("d", "") }).metadata };

  expect(splitPods(workload, [], [buildPod("a", "b")])).toEqual({ present: [], earlier: [] });
});
