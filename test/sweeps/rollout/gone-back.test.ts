/** A release that is taken back: the earlier version starts again at its own address, and nobody answers at the later one. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Version } from "#worker/contract.ts";
import type { Edit } from "../../support/program/edited-tree.ts";
import { startVersionBench, type VersionBench } from "../../support/program/version-bench.ts";
import { imageV1 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 4;

/** A later version: its deploys have a step of another name. */
const later: Edit = {
  file: "fleet/deploys/service.ts",
  from: 'ctx.run("observe"',
  to: 'ctx.run("look"',
};

/** A later version whose journals fit the earlier one. */
const fitting: Edit = {
  file: "rollout/rules/messages.ts",
  from: "/** The transitions of a rollout as messages",
  to: "/** Transitions as messages",
};

describe("an earlier version that starts again at its own address", { retry: 0 }, () => {
  let bench: VersionBench;
  let images = 0;
  let image: string;

  beforeAll(async () => {
    bench = await startVersionBench(size);
  });

  afterAll(() => bench.stop());

  beforeEach(async () => {
    image = imageV1.replace("v1", `g${++images}`);
    await bench.moveWorkers("first");
    await bench.start();
    await bench.kill();
    await bench.moveWorkers("another");
  });

  afterEach(async () => {
    bench.release();
    await bench.kill();
  });

  const untilState = (state: string) =>
    waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body["state"] === state && body;
      },
      { withinMs: 60_000, what: `the rollout to be ${state}` },
    );

  /** Waits until two deploys have made the step `poll`: until then the journals of both versions are the same. */
  const holdRollout = async (poll: string) => {
    bench.hold();
    await bench.send("Rollout", { image, wave_percentages: [100] });
    const polled = `SELECT DISTINCT id FROM sys_journal WHERE name = '${poll}'`;
    await waitFor(async () => (await bench.query(polled)).length >= 2, {
      withinMs: 60_000,
      what: "two deploys that have polled",
    });
  };

  const goBack = async () => {
    await bench.kill();
    await bench.moveWorkers("first");
    await bench.start();
  };

  it("serves everything again", { timeout: 240_000 }, async () => {
    await bench.start(later);

    await goBack();

    const { body: known } = await bench.callAt("vedette.v1.Engine/Versions", {});
    const versions = known["versions"] as Version[];
    expect(versions.filter(({ serves }) => serves > 0)).toHaveLength(1);
    const { body } = await bench.call("Rollout", { image, wave_percentages: [100] });
    expect(body).toMatchObject({ state: "completed", succeeded: size });
  });

  it("leaves everything to the later version when it ends again", {
    timeout: 240_000,
  }, async () => {
    const running = await bench.start(later);
    await bench.moveWorkers("first");
    await bench.start();

    await bench.kill();

    const { body } = await bench.call("Rollout", { image, wave_percentages: [100] });
    await bench.kill(running);
    expect(body).toMatchObject({ state: "completed", succeeded: size });
  });

  it("continues a rollout that the later version has started", { timeout: 240_000 }, async () => {
    await bench.start(fitting);
    await holdRollout("observe");

    await goBack();

    bench.release();
    expect(await untilState("completed")).toMatchObject({ succeeded: size, failed: 0 });
  });
});
