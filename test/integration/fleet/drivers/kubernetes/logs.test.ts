/** Logs of pods: taken before what has failed is put back, and never at the cost of the deploy. */
import { describe, expect, it } from "vitest";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import { createSaveLog } from "#fleet/logs/store.ts";
import { createLog } from "#kernel/log.ts";
import { type ApiServerSettings, adminToken } from "../../../../support/kubernetes/api-server.ts";
import {
  createTestDriver,
  imageAt,
  kubeImage,
  startKubernetesFleet,
} from "../../../../support/kubernetes/fleet.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const sentinelId = "edge/gw-1";

/** A deploy that fails, and what is kept of its log. */
async function failOn(settings: ApiServerSettings, tag = "v2-crash") {
  const server = await startKubernetesFleet(["gw-1"], settings);
  const driver: Driver = createTestDriver(server.url);
  const kept: { lines: string; note?: string | undefined; image: string }[] = [];
  const keepLog = createSaveLog({
    driver,
    store: {
      keep: async (_id, { lines, note }) =>
        void kept.push({ lines, note, image: imageAt(server, "gw-1") }),
    },
    budget: createLogBudget(),
    lines: 100,
    log: createLog({ level: "silent", format: "json" }),
  });
  const order = { sentinelId, image: kubeImage(tag), deployId: "d1" };
  await driver.apply(order);
  const seen = await waitFor(
    async () => {
      const found = await driver.observe(order, {
        beforeRemoval: ({ reason, readLog }) => keepLog({ ...order, reason }, readLog),
      });
      return found.status !== "progressing" && found;
    },
    { withinMs: 20_000, what: "the deploy to settle" },
  );
  return { server, driver, seen, kept, order };
}

const failed = { status: "failed", reason: "crash_loop: exit code 1" };

describe("the log of a failed deploy", () => {
  it("is that of the run that has ended, and is kept while the image is still there", async () => {
    const { server, seen, kept } = await failOn({});

    const lines = "reading settings\nno database: password=hunter2\n";
    expect(seen).toMatchObject(failed);
    expect(kept).toEqual([{ lines, note: undefined, image: kubeImage("v2-crash") }]);
    const asked = server.requests.filter(({ resource }) => resource === "pods/log");
    expect(asked.map(({ query }) => Object.fromEntries(query))).toEqual([
      { container: "gateway", tailLines: "100", limitBytes: "1048576", previous: "true" },
    ]);
  });

  it("is absent without the right to read logs, and the deploy fails as it would with it", async () => {
    const { seen, kept } = await failOn({
      tokens: { [adminToken]: ({ resource }) => resource !== "pods/log" },
    });

    expect(seen).toMatchObject(failed);
    expect(kept).toMatchObject([
      { lines: "", note: expect.stringMatching(/^no right to read logs \(get pods\/log\)/) },
    ]);
  });

  it("is asked for without the run before when that has been cleared away", async () => {
    const { kept } = await failOn({
      before: ({ resource, query }) =>
        resource === "pods/log" && query.get("previous") === "true"
          ? { status: 400, body: { message: "previous terminated container not found" } }
          : undefined,
    });

    expect(kept).toMatchObject([{ lines: expect.stringMatching(/no database/) }]);
  });

  it("does not keep the image from coming back when the server says nothing of it", async () => {
    const { seen, server, kept } = await failOn({
      before: ({ resource }) => (resource === "pods/log" ? "lost" : undefined),
    });

    expect(seen).toMatchObject(failed);
    expect(imageAt(server, "gw-1")).toBe(kubeImage("v1"));
    expect(kept).toMatchObject([{ lines: "", note: expect.stringMatching(/^unreachable/) }]);
  });
});

it("the log of what runs says why when a pod has not begun", async () => {
  const server = await startKubernetesFleet(["gw-1"]);
  const driver = createTestDriver(server.url);
  const order = { sentinelId, image: kubeImage("v2-slow"), deployId: "d1" };
  await driver.apply(order);
  const call = { lines: 100, signal: AbortSignal.timeout(10_000) };
  const isMade = () => server.objects.list("pods", "edge").length === 2;
  await waitFor(isMade, { withinMs: 5_000, what: "the new pod" });

  const started = await driver.readLog?.({ sentinelId, deployId: "d1" }, call);
  const running = await driver.readLog?.({ sentinelId }, call);

  expect(started).toEqual({ absent: expect.stringMatching(/is waiting to start/) });
  expect(running).toEqual({ text: "listening\n" });
});
