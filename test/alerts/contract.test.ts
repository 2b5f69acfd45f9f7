import { expect, it } from "vitest";
import { alertEventHandlers, directQueueKey } from "#alerts/contract.ts";

it("an event of the longest check at the longest channel can be shown and sent again", () => {
  const queue = directQueueKey("c".repeat(100), "d".repeat(100));
  const request = { event_id: `${queue}:3:opened` };

  expect(alertEventHandlers.Show.input.safeParse(request).success).toBe(true);
  expect(alertEventHandlers.Retry.input.safeParse(request).success).toBe(true);
});
