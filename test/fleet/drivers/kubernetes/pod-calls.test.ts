import { describe, expect, it } from "vitest";
import {
  chooseLog,
  createPodCalls,
  readPodLog,
  selectorOf,
} from "#fleet/drivers/kubernetes/pod-calls.ts";
import { Pod, Workload } from "#fleet/drivers/kubernetes/schemas.ts";

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

it("the newest revisions of a set are read, however many a cluster lists", async () => {
  const metadata = { name: "gw", namespace: "edge", uid: "set", resourceVersion: "1" };
  const ownerReferences = [{ uid: "set", controller: true }];
  const pageFrom = (first: number) => ({
    metadata: { continue: first < 2_000 ? String(first + 1_000) : "" },
    items: Array.from({ length: 1_000 }, (_, n) => ({
      ...{ metadata: { ...metadata, ownerReferences }, revision: first + n },
    })),
  });
  const call = async ({ path }: { path: string }) => {
    const first = Number(new URLSearchParams(path.split("?")[1]).get("continue"));
    const none = { metadata: {}, items: [] };
    return { status: 200, body: path.includes("/pods") ? none : pageFrom(first) };
  };
  const calls = createPodCalls({ call, lists: new Set(), readEnd: undefined as never });
  const spec = { selector: {}, template: { spec: { containers: [] } } };

  const { revisions } = await calls.madePods(Workload.parse({ metadata, spec }));

  expect(revisions).toHaveLength(1_000);
  expect(revisions[0]?.revision).toBe(2_999);
});

const ended = (exitCode: number) => ({ terminated: { exitCode } });
const running = { running: {} };
const waiting = { waiting: { reason: "CrashLoopBackOff" } };

type Status = { name: string; ready?: boolean; state?: object; lastState?: object };

function buildPod(name: string, containerStatuses: Status[], over: object = {}) {
  const ready = containerStatuses.every((one) => one.ready === true);
  return Pod.parse({
    metadata: { name, namespace: "edge", uid: name, resourceVersion: "1" },
    spec: { containers: [{ name: "gateway" }] },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses,
      ...over,
    },
  });
}

const choose = (...pods: Pod[]) => {
  const of = chooseLog(pods, "gateway");
  return of && [of.pod.metadata.name, of.container, of.previous];
};

describe("chooseLog", () => {
  it("takes the pod that is not ready, else the first one", () => {
    const good = buildPod("good", [{ name: "gateway", ready: true, state: running }]);
    const bad = buildPod("bad", [{ name: "gateway", state: running }]);

    expect(choose(good, bad)).toEqual(["bad", "gateway", false]);
    expect(choose(good)).toEqual(["good", "gateway", false]);
    expect(choose()).toBeUndefined();
  });

  it.each<[string, Status, boolean]>([
    ["waits for its next run", { name: "gateway", state: waiting, lastState: ended(1) }, true],
    ["has just begun its next run", { name: "gateway", state: running, lastState: ended(1) }, true],
    ["has ended", { name: "gateway", state: ended(1), lastState: ended(1) }, false],
    ["is in its first run", { name: "gateway", state: running }, false],
    [
      "serves after a restart",
      { name: "gateway", ready: true, state: running, lastState: ended(1) },
      false,
    ],
  ])("tells whether the run before says why, of one that %s", (_name, status, previous) => {
    expect(choose(buildPod("p", [status]))).toEqual(["p", "gateway", previous]);
  });

  it("takes the container that has failed, beside the sentinel's or before it", () => {
    const beside = buildPod("p", [
      { name: "gateway", state: running },
      { name: "proxy", state: waiting, lastState: ended(2) },
    ]);
    const before = buildPod("p", [{ name: "gateway", state: { waiting: {} } }], {
      initContainerStatuses: [
        { name: "migrate", state: ended(0) },
        { name: "settings", state: waiting, lastState: ended(3) },
      ],
    });

    expect(choose(beside)).toEqual(["p", "proxy", true]);
    expect(choose(before)).toEqual(["p", "settings", true]);
  });
});

it("the log call asks for fewer lines when the last ones are longer than the server may answer", async () => {
  const asked: (string | null)[] = [];
  const cluster = {
    readEnd: async ({ path }: { path: string }) => {
      const lines = new URL(path, "http://x").searchParams.get("tailLines");
      asked.push(lines);
      const stop = lines === "100" ? ("limit" as const) : ("end" as const);
      return { status: 200, text: `of ${lines}`, stop };
    },
  };
  const of = { pod: buildPod("p", []), container: "gateway", previous: false };

  const tail = await readPodLog(cluster, of, { lines: 100, signal: new AbortController().signal });

  expect(tail).toEqual({ text: "of 10" });
  expect(asked).toEqual(["100", "10"]);
});
