import { describe, expect, it } from "vitest";
import { toFamily } from "#fleet/drivers/docker/family.ts";
import { observeFamily } from "#fleet/drivers/docker/observe.ts";
import {
  buildContainer,
  buildMade,
  startedAt,
} from "../../../support/docker/container-builders.ts";

const order = { image: "r.io/a:v2", deployId: "d1" };
const runs = { Status: "running", Running: true };
const ended = { Status: "exited", Running: false, ExitCode: 3, FinishedAt: startedAt };

const observe = (containers: Parameters<typeof toFamily>[1], runningImage = "r.io/a:v1") =>
  observeFamily(toFamily("gw", containers), order, {
    nowMs: Date.parse(startedAt) + 60_000,
    stableMs: 10_000,
    readyTimeoutMs: 300_000,
    runningImage,
  }).observation;

describe("observeFamily", () => {
  it("believes nothing but what it sees, until the replacement is at its end", () => {
    const old = buildContainer("gw");

    const seen = observe([old, buildMade("gw.next", "d1", { state: runs })]);

    expect(seen).toMatchObject({ status: "progressing", isOrdered: true, deniesReady: true });
  });

  it("is ready with the old one gone", () => {
    const seen = observe([buildMade("gw", "d1", { state: runs })], "r.io/a:v2");

    expect(seen).toEqual({
      status: "ready",
      isOrdered: true,
      healthy: true,
      running_image: "r.io/a:v2",
    });
  });

  it("has not failed before the old one is back, and then says why", () => {
    const reason = "crash_loop: exit code 3";
    const old = buildContainer("gw.prev", { id: "gw-id", state: ended });

    expect(observe([old, buildMade("gw.failing", "d1", { state: ended })])).toMatchObject({
      status: "progressing",
      deniesReady: true,
      reason,
    });
    expect(
      observe([
        buildContainer("gw"),
        buildMade("gw.failed", "d1", { state: ended, host: { RestartPolicy: { Name: "no" } } }),
      ]),
    ).toMatchObject({ status: "failed", reason });
  });

  it("has failed when the new one was given up before it ran", () => {
    const seen = observe([buildContainer("gw"), buildMade("gw.failed", "d1")]);

    expect(seen).toMatchObject({ status: "failed", reason: expect.stringMatching(/^conflict: /) });
  });

  it("is ready without an order when the image runs already, and well", () => {
    expect(observe([buildContainer("gw")], order.image)).toMatchObject({ status: "ready" });
    expect(observe([buildContainer("gw", { state: ended })], order.image)).toMatchObject({
      status: "progressing",
      isOrdered: false,
    });
  });

  it("is gone without any container", () => {
    expect(observe([])).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^target_gone: /),
    });
  });
});
