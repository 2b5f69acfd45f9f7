/** How the driver of an own fleet reads the names by which that calls images. */
import { expect, it, onTestFinished } from "vitest";
import { boundDriver } from "#fleet/drivers/bounded.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { createLog } from "#kernel/log.ts";
import { answerJson, startScriptedFleet } from "../../../support/rollout/scripted-fleet.ts";

const b = `sha256:${"b".repeat(64)}`;
const c = `sha256:${"c".repeat(64)}`;
const gateway = "registry.example.com/team/gateway";
const pinned = `${gateway}:v2@${b}`;
const log = createLog({ level: "silent", format: "json" });

const startDriver = async (answer: object) => {
  const fleet = await startScriptedFleet((_, outgoing) => answerJson(outgoing, 200, answer));
  const driver = boundDriver(createHttpDriver({ url: fleet.url, token: "t" }), log);
  onTestFinished(async () => {
    await driver.stop();
    await fleet.stop();
  });
  return driver;
};

it("what the list has of sentinels' counters is read, without ids and counts that cannot be used", async () => {
  const one = { region: "eu", image: `${gateway}:v1`, healthy: true };
  const metrics = { requests: 10, errors: 1 };
  const driver = await startDriver({
    sentinels: [
      { ...one, id: "gw-1", metrics: { ...metrics, latency: { "0.1": 9 } } },
      { ...one, id: "gw-2", metrics: { requests: "many" } },
      { ...one, id: "..", metrics },
      { ...one, id: "gw-4" },
    ],
  });

  const counters = await driver.readCounters?.(AbortSignal.timeout(5_000));

  expect([...(counters ?? [])]).toEqual([["gw-1", { ...metrics, latency: { "0.1": 9 } }]]);
});

/** What is seen of an order when the fleet says that it is ready. */
const observe = async (image: string, answer: { image: string; running_image?: string }) => {
  const driver = await startDriver({ id: "gw-1", status: "ready", deploy_id: "d-1", ...answer });
  return driver.observe({ sentinelId: "gw-1", image, deployId: "d-1" });
};

it.each([
  ["its digest alone", pinned, `${gateway}@${b}`],
  ["its tag alone", pinned, `${gateway}:v2`],
  ["a mirror's name", pinned, `mirror.example.com/${gateway}:v2@${b}`],
  ["a mirror's name and the tag alone", pinned, `mirror.example.com/${gateway}:v2`],
  ["another tag of the digest", pinned, `${gateway}:latest@${b}`],
  ["the name that kubelets had", pinned, `docker-pullable://${gateway}@${b}`],
  ["a host in capitals", `${gateway}:v2`, "Registry.Example.COM/team/gateway:v2"],
  ["the whole name of Docker's library", "docker.io/redis:8", "docker.io/library/redis:8"],
  ["the name of Docker's index", "docker.io/team/app:8", "index.docker.io/team/app:8"],
  ["a digest, where the order has a tag", `${gateway}:v2`, `${gateway}@${b}`],
  ["a tag, where the order has a digest", `${gateway}@${b}`, `${gateway}:v2`],
  ["a line break after it", pinned, `${pinned}\n`],
])("a fleet that answers with %s is ready", async (_, ordered, name) => {
  const seen = [
    await observe(ordered, { image: name }),
    await observe(ordered, { image: ordered, running_image: name }),
    await observe(ordered, { image: name, running_image: name }),
  ];

  expect(seen.map(({ status, isOrdered }) => [status, isOrdered])).toEqual(
    seen.map(() => ["ready", true]),
  );
});

it("a fleet whose engine answers with the id of its image is ready", async () => {
  const seen = await observe(pinned, { image: pinned, running_image: c });

  expect(seen.status).toBe("ready");
});

it.each([
  ["another digest of the tag", `${gateway}:v2@${c}`],
  ["another tag", `${gateway}:v1`],
  ["another repository", `registry.example.com/team/other:v2`],
])("a fleet that runs %s is not ready", async (_, name) => {
  const seen = await observe(pinned, { image: pinned, running_image: name });

  expect(seen).toMatchObject({ status: "progressing", deniesReady: true });
});

it.each([`${gateway}:v2@${c}`, `${gateway}:v1`])(
  "a fleet that was ordered to run %s has not taken the order",
  async (image) => {
    const seen = await observe(pinned, { image });

    expect(seen).toMatchObject({ status: "progressing", isOrdered: false });
  },
);

it("an order is answered as ready by another name of its image", async () => {
  const answer = { id: "gw-1", status: "ready", deploy_id: "d-1", image: `${gateway}@${b}` };
  const driver = await startDriver(answer);

  const { seen } = await driver.apply({ sentinelId: "gw-1", image: pinned, deployId: "d-1" });

  expect(seen).toMatchObject({ status: "ready", isOrdered: true });
});

it.each([
  ["its tag", `${gateway}:v2`, true],
  ["its digest", `${gateway}@${b}`, undefined],
])("without a deploy id, ready by %s may be of before: %s", async (_, image, expected) => {
  const driver = await startDriver({ id: "gw-1", status: "ready", image });

  const seen = await driver.observe({ sentinelId: "gw-1", image: pinned, deployId: "d-1" });

  expect(seen.mayBeOfEarlier).toBe(expected);
});
