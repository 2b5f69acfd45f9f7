/** An API server that is away, slow, lies, refuses or forgets. */
import { describe, expect, it } from "vitest";
import { type DeployOrder, UnreachableError } from "#fleet/drivers/driver.ts";
import { adminToken, startApiServer } from "../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  addSet,
  createTestDriver,
  imageAt,
  imagesOfPods,
  kubeImage,
  startKubernetesFleet,
  untilAvailable,
} from "../../support/kubernetes/fleet.ts";
import { waitFor } from "../../support/wait-for.ts";

const order: DeployOrder = { sentinelId: "edge/gw", image: kubeImage("v2"), deployId: "d1" };

describe("an API server", () => {
  it.each([
    ["a redirect", { status: 302, headers: { location: "http://192.0.2.1/" } }],
    ["a fault of its own", { status: 500, body: { message: "etcd\u0007 is away" } }],
    ["another thing", { status: 200, body: { items: "none" } }],
    ["404 of a proxy", { status: 404, body: { message: "no such route" } }],
    ["no answer", "lost" as const],
  ])("that answers %s says nothing about its workloads", async (_, what) => {
    const server = await startKubernetesFleet(["gw"], { before: () => what });
    const driver = createTestDriver(server.url);

    await expect(driver.list()).rejects.toBeInstanceOf(UnreachableError);
    await expect(driver.apply(order)).rejects.toThrow(/^unreachable: /);
    await expect(driver.observe(order)).rejects.toThrow(/^unreachable: \P{Cc}*$/u);
  });

  it("that allows the order and no more refuses for good what it refuses", async () => {
    const mayRead = ({ verb }: { verb: string }) => verb !== "patch";
    const server = await startKubernetesFleet(["gw"], { tokens: { reader: mayRead } });
    const driver = createTestDriver(server.url, { token: "reader" });

    expect(await driver.list()).toHaveLength(1);
    expect(await driver.apply(order)).toMatchObject({
      failure: expect.stringMatching(/^unauthorized: .*cannot patch resource "deployments"/),
      isOfApi: true,
    });
  });

  it("that does not know us is no empty fleet", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url, { token: "stale" });

    await expect(driver.list()).rejects.toThrow(/^unauthorized/);
    await expect(driver.list()).rejects.toBeInstanceOf(UnreachableError);
    await expect(driver.observe(order)).rejects.toBeInstanceOf(UnreachableError);
  });

  it("that asks for fewer calls gets fewer, and is asked again later", async () => {
    let isBusy = true;
    const server = await startKubernetesFleet(["gw"], {
      before: () =>
        isBusy ? { status: 429, headers: { "retry-after": "1" }, body: {} } : undefined,
    });
    const driver = createTestDriver(server.url);

    await expect(driver.list()).rejects.toThrow(/429/);
    await expect(driver.list()).rejects.toThrow("asks for fewer calls");
    isBusy = false;

    const list = await waitFor(() => driver.list(), { withinMs: 5_000, what: "the list" });
    expect(list).toHaveLength(1);
    expect(server.requests.filter(({ verb }) => verb === "list").length).toBe(2);
  });

  it("that goes away in the middle of a deploy and comes back", async () => {
    let isAway = false;
    const server = await startKubernetesFleet(["gw"], {
      readyMs: 200,
      before: () => (isAway ? "lost" : undefined),
    });
    const driver = createTestDriver(server.url);
    await driver.apply(order);
    isAway = true;
    server.cut();

    await expect(driver.observe(order)).rejects.toThrow(/^unreachable: /);
    isAway = false;

    const look = async () => (await driver.observe(order)).status === "ready";
    await waitFor(look, { withinMs: 10_000, what: "the deploy to end" });
  });

  it("whose list has more pages than one is listed whole", async () => {
    const server = await startApiServer();
    for (let n = 0; n < 501; n++) addDeployment(server, `gw-${n}`, { replicas: 0 });

    expect(await createTestDriver(server.url).list()).toHaveLength(501);
  });

  it("whose list never ends is given up", async () => {
    const page = { metadata: { continue: "again" }, items: [] };
    const server = await startApiServer({ before: () => ({ status: 200, body: page }) });

    await expect(createTestDriver(server.url).list()).rejects.toThrow("has no end");
  });

  it.each([
    ["refuses a watch", { status: 403, body: {} }],
    ["answers a watch with nonsense", { status: 200, body: { type: 7 } }],
    [
      "has forgotten the version that is watched from",
      { status: 200, body: { type: "ERROR", object: { code: 410 } } },
    ],
    ["cuts a watch", "lost" as const],
  ])("that %s is polled", async (_, what) => {
    const server = await startKubernetesFleet(["gw"], {
      readyMs: 300,
      before: ({ verb }) => (verb === "watch" ? what : undefined),
    });
    const driver = createTestDriver(server.url);
    await driver.apply(order);

    const look = async () => (await driver.observe(order)).status === "ready";

    await waitFor(look, { withinMs: 10_000, what: "the deploy to end" });
    expect(server.requests.filter(({ verb }) => verb === "watch").length).toBeLessThan(3);
  });
});

/** Which change of a member's deploy is struck, and how. */
type Strike = { kind: "StatefulSet" | "DaemonSet"; tag: string; at: number; fate: string };

const membersOf = { StatefulSet: ["0", "1"], DaemonSet: ["node-a", "node-b"] } as const;
const strikeFates = ["lost before", "lost after", "killed before", "killed after"];
/** Order, eviction, end; of one that fails: order, eviction, failure, deletion, end. */
const strikes = (["StatefulSet", "DaemonSet"] as const).flatMap((kind) =>
  Object.entries({ v2: 3, "v2-crash": 5 }).flatMap(([tag, changes]) =>
    Array.from({ length: changes }, (_, n) => n + 1).flatMap((at) =>
      strikeFates.map((fate): Strike => ({ kind, tag, at, fate })),
    ),
  ),
);

it("a member's deploy ends as it should, whichever of its changes is lost or its process's last", async () => {
  const ends = await Promise.all(strikes.map(strikeMember));

  const expected = strikes.map((strike) => {
    const isGood = strike.tag === "v2";
    const image = kubeImage(isGood ? "v2" : "v1");
    return {
      strike,
      seen: {
        status: isGood ? "ready" : "failed",
        ...(!isGood && { reason: "crash_loop: exit code 1" }),
        isOrdered: true,
        running_image: image,
        healthy: true,
      },
      images: { [membersOf[strike.kind][0]]: image, [membersOf[strike.kind][1]]: kubeImage("v1") },
      template: image,
      wasStruck: true,
      faults: [],
    };
  });
  expect(ends).toEqual(expected);
});

async function strikeMember(strike: Strike) {
  const { kind, tag, at, fate } = strike;
  const resource = kind === "StatefulSet" ? "statefulsets" : "daemonsets";
  let changes = 0;
  let isFirst = true;
  const interfere = (asked: { verb: string; token: string }, when: string) => {
    if (asked.token === "first" && !isFirst) return "lost" as const;
    if (!["patch", "create", "delete"].includes(asked.verb)) return undefined;
    if (when === "before") changes++;
    if (changes !== at || !fate.endsWith(when)) return undefined;
    // Once: the next attempt of the same change comes through.
    changes += when === "after" ? 0.5 : 0;
    isFirst = !fate.startsWith("killed");
    return "lost" as const;
  };
  const server = await startApiServer({
    tokens: { first: () => true, [adminToken]: () => true },
    before: (asked) => interfere(asked, "before"),
    after: (asked) => interfere(asked, "after"),
  });
  addSet(server, "gw", { kind });
  await untilAvailable(server);
  const kinds = ["statefulsets", "daemonsets"] as const;
  const first = createTestDriver(server.url, { token: "first", kinds });
  const second = createTestDriver(server.url, { kinds });
  const sentinelId = `edge/gw/${membersOf[kind][0]}`;
  const wanted = { sentinelId, image: kubeImage(tag), deployId: "d1" };
  const step = async () => {
    const driver = isFirst ? first : second;
    const seen = await driver.observe(wanted);
    if (seen.isOrdered === false) await driver.apply(wanted);
    return seen.status !== "progressing" && seen;
  };
  const seen = await waitFor(() => step().catch(() => false as const), {
    withinMs: 20_000,
    what: `the deploy to settle: ${JSON.stringify(strike)}`,
  });
  const set = server.objects.get({ resource, namespace: "edge", name: "gw" });
  const template: string = set?.spec.template.spec.containers[0].image;
  const images = imagesOfPods(server, "gw");
  return { strike, seen, images, template, wasStruck: changes > at, faults: server.faults };
}

describe("at each of its changes", () => {
  const fates = ["lost before", "lost after", "killed before", "killed after"] as const;
  const cases = fates.flatMap((fate) =>
    (["v2", "v2-crash"] as const).flatMap((tag) => [1, 2].map((at) => [fate, tag, at] as const)),
  );

  it.each(cases)("%s: a deploy of %s, change %i, ends as it should", async (fate, tag, at) => {
    const wanted = { ...order, image: kubeImage(tag) };
    let changes = 0;
    let isFirst = true;
    const strike = (asked: { verb: string; token: string }, when: string) => {
      if (asked.token === "first" && !isFirst) return "lost" as const;
      if (asked.verb !== "patch" || !fate.endsWith(when)) return undefined;
      changes++;
      if (changes !== at) return undefined;
      isFirst = !fate.startsWith("killed");
      return "lost" as const;
    };
    const server = await startKubernetesFleet(["gw"], {
      tokens: { first: () => true, [adminToken]: () => true },
      before: (asked) => strike(asked, "before"),
      after: (asked) => strike(asked, "after"),
    });
    const first = createTestDriver(server.url, { token: "first" });
    const second = createTestDriver(server.url);

    const step = async () => {
      const driver = isFirst ? first : second;
      const seen = await driver.observe(wanted);
      if (seen.isOrdered === false) await driver.apply(wanted);
      return seen.status !== "progressing" && seen;
    };
    const seen = await waitFor(() => step().catch(() => false as const), {
      withinMs: 20_000,
      what: "the deploy to settle",
    });

    const isGood = tag === "v2";
    expect(seen).toMatchObject(
      isGood
        ? { status: "ready", running_image: kubeImage("v2") }
        : { status: "failed", reason: "crash_loop: exit code 1", running_image: kubeImage("v1") },
    );
    expect(imageAt(server, "gw")).toBe(kubeImage(isGood ? "v2" : "v1"));
    await untilAvailable(server);
    const [found] = server.objects.list("deployments", "edge");
    expect(found?.metadata.generation).toBe(isGood ? 2 : 3);
    expect(server.faults).toEqual([]);
  });
});
