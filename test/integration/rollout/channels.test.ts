/** The channels of the definitions that get messages of rollouts. */
import { expect, it, onTestFinished } from "vitest";
import { webhookChannel } from "../../support/alerts/message-builders.ts";
import { startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

it("a channel gets the messages that it wants, in order, and the webhook of the settings all", async () => {
  const received: string[] = [];
  const wanted = ["rollout started", "completed"];
  const bench = await startRolloutBench({
    chat: {
      channelsOf: (_, event) => (wanted.includes(event ?? "") ? ["hook"] : []),
      channels: [{ ...webhookChannel, id: "hook" }],
      send: async ({ id }, message) => {
        if (message.kind === "notice") received.push(`${id}: ${message.notice.rollout?.event}`);
        return { kind: "accepted" };
      },
    },
  });
  onTestFinished(() => bench.stop());

  await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

  const all = ["rollout started", "wave started", "wave completed", "completed"];
  const of = (channel: string) => received.filter((one) => one.startsWith(`${channel}: `));
  await waitFor(() => of("sentinel_rollout").length >= 4 && of("hook").length >= 2, {
    withinMs: 20_000,
    what: "the messages of the rollout",
  });
  expect(of("sentinel_rollout")).toEqual(all.map((event) => `sentinel_rollout: ${event}`));
  expect(of("hook")).toEqual(wanted.map((event) => `hook: ${event}`));
});
