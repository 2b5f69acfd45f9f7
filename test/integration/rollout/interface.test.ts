import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rolloutHandlers } from "#rollout/contract.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";

const service = "vedette.v1.SentinelRolloutService";

describe("the rollout service as Restate shows it", () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench();
  });

  afterAll(() => bench.stop());

  it.each([
    [{}],
    [{ image: "no-tag" }],
    [{ image: imageV2, wave_percentages: [50] }],
    [{ image: imageV2, wave_percentages: [100, 50] }],
    [{ image: imageV2, surprise: true }],
    [[]],
    ["text"],
  ])("refuses the request %j with 400 and starts nothing", async (body) => {
    const answer = await bench.call("Rollout", body);

    expect(answer.status).toBe(400);
    expect((await bench.call("Status")).body.state).toBe("idle");
  });

  it.each(["Status", "Cancel", "Resume", "RollbackAll"])(
    "refuses a field in the body of %s",
    async (handler) => {
      const answer = await bench.post(`${service}/singleton/${handler}`, { surprise: true });

      expect(answer.status).toBe(400);
    },
  );

  it.each(Object.keys(rolloutHandlers))(
    "accepts no other key than singleton for %s",
    async (handler) => {
      const bodies: Record<string, object> = {
        Rollout: { image: imageV2 },
        Plan: { image: imageV2 },
        Skip: { reason: "a test" },
      };

      const answer = await bench.post(`${service}/another/${handler}`, bodies[handler] ?? {});

      expect(answer.status).toBe(404);
      expect(answer.body["message"]).toContain('"singleton"');
    },
  );

  it("shows a JSON schema for the input of every public handler", async () => {
    const answer = await fetch(`${bench.restate.adminUrl}/services/${service}`);
    const { handlers } = (await answer.json()) as {
      handlers: { name: string; public: boolean; input_json_schema?: { type?: string } }[];
    };

    const shown = handlers.filter((handler) => handler.public);
    expect(shown.map(({ name }) => name).sort()).toEqual(Object.keys(rolloutHandlers).sort());
    for (const handler of shown) expect(handler.input_json_schema?.type).toBe("object");
  });

  it("keeps its private handlers from callers", async () => {
    const answer = await bench.post(`${service}/singleton/runnerEnded`, {});

    expect(answer.status).toBe(400);
  });
});
