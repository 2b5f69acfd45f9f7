import { expect, it } from "vitest";
import { retryWords } from "#console/web/checks/retry-words.ts";

const event = { environment: "production", channel: "production", kind: "opened" } as const;

it("an event of the incident service is sent there", () => {
  expect(retryWords({ ...event, event_id: "shop:1:opened" })).toEqual([
    "It is sent to the incident service (production) now, and retried until it is accepted.",
    "The people on the alert's route are paged.",
  ]);
});

it("an event of a channel is sent to that channel", () => {
  const words = retryWords({ ...event, event_id: "shop@chat:1:opened", channel: "chat" });

  expect(words).toEqual([
    "It is sent to the channel chat now, and retried until it is accepted.",
    "Those who read the channel are notified.",
  ]);
});
