/** The client of `vedette/client` and a real program. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, createClient } from "#client/client.ts";
import { type Program, startProgram } from "../../support/program/program.ts";

const image = "registry.example.com/vedette/sentinel:v2";
const failing = "registry.example.com/vedette/sentinel:v3-crash";

let program: Program;
let client: Client;

beforeAll(async () => {
  program = await startProgram();
  client = createClient({ url: program.endpoints().control, token: program.token() });
});

afterAll(() => program.dispose());

it("plans a rollout, runs it to its end, and reads what became of it", async () => {
  const plan = await client.plan({ image });
  const ended = await client.rollout({ image });
  const status = await client.status();
  const history = await client.history({ limit: 1 });

  expect(plan.waves.map(({ size }) => size)).toEqual([1]);
  expect(ended).toMatchObject({ state: "completed", image, succeeded: 1, failed: 0 });
  expect(status.rollout_id).toBe(ended.rollout_id);
  expect(history.rollouts.map(({ rollout_id }) => rollout_id)).toEqual([ended.rollout_id]);
});

it("answers when a rollout pauses, and puts the previous image back", async () => {
  const paused = await client.rollout({ image: failing });
  const rolledBack = await client.rollbackAll({ include_failed: true });

  expect(paused).toMatchObject({ state: "paused", failed: 1 });
  expect(paused.failed_sentinels).toHaveLength(1);
  expect(rolledBack).toMatchObject({ state: "cancelled", outcome: "rolled_back" });
});

it("throws the refusal of an operation that is not legal now", async () => {
  const resumed = client.resume({ retry_failed: true });

  await expect(resumed).rejects.toMatchObject({ status: 409, code: "illegal_operation" });
});

it("throws the refusal of a bad request and of a wrong token", async () => {
  const planned = client.plan({ image: "nonsense" });
  const stranger = createClient({ url: program.endpoints().control, token: "wrong" });

  await expect(planned).rejects.toMatchObject({
    status: 400,
    detail: expect.stringContaining("image"),
  });
  await expect(stranger.status()).rejects.toMatchObject({ status: 401, code: "unauthorized" });
});

it("a call that was made before is the same call under its key", async () => {
  const next = { image: "registry.example.com/vedette/sentinel:v5" };

  const first = await client.rollout(next, { idempotencyKey: "build-5" });
  const second = await client.rollout(next, { idempotencyKey: "build-5" });

  expect(second.rollout_id).toBe(first.rollout_id);
});
