import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Ingress, IngressAnswer } from "#control/ingress.ts";
import { timeCalls } from "#control/metrics.ts";

const answered = (status: number): IngressAnswer => ({ status, body: null, invocationId: "inv" });

async function countOf(call: Ingress["call"], path: string, signal = AbortSignal.timeout(60_000)) {
  const registry = new Registry();
  const ingress = timeCalls({ call, close: async () => {} }, registry);
  const asked = {
    path,
    body: {},
    actor: "ada",
    reader: "ada",
    idempotencyKey: undefined,
    blocks: false,
    signal,
  };
  const outcome = await ingress.call(asked).catch((error: Error) => error);
  const text = await registry.metrics();
  const counted = /^vedette_control_call_duration_seconds_count(\{.*\}) 1$/m.exec(text)?.[1];
  return { outcome, counted };
}

it.each([
  ["/vedette.v1.SentinelRolloutService/singleton/Cancel", "Cancel"],
  ["/vedette.v1.SentinelRolloutService/singleton/Cancel/send", "Cancel/send"],
  ["/vedette.v1.SentinelRolloutService/List", "List"],
])("the metric names the handler of %s", async (path, handler) => {
  const { outcome, counted } = await countOf(async () => answered(200), path);

  expect(outcome).toEqual(answered(200));
  expect(counted).toContain('service="vedette.v1.SentinelRolloutService"');
  expect(counted).toContain(`handler="${handler}"`);
  expect(counted).toContain('result="ok"');
});

it.each([
  [409, "refused"],
  [500, "failed"],
])("the metric takes the status %i for %s", async (status, result) => {
  const { counted } = await countOf(async () => answered(status), "/s/k/Cancel");

  expect(counted).toContain(`result="${result}"`);
});

it("the metric separates a caller that went away from a failed call, and rethrows its error", async () => {
  const fail = async () => {
    throw new Error("Restate is away");
  };

  const failed = await countOf(fail, "/s/k/Cancel");
  const gone = await countOf(fail, "/s/k/Cancel", AbortSignal.abort());

  expect(failed.outcome).toEqual(new Error("Restate is away"));
  expect(failed.counted).toContain('result="failed"');
  expect(gone.counted).toContain('result="gone"');
});
