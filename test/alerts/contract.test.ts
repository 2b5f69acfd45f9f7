import { expect, it } from "vitest";
import {
  alertEventHandlers,
  directQueueKey,
  formatEventId,
  parseEventId,
} from "#alerts/contract.ts";

it("an event of the longest check at the longest channel can be shown and sent again", () => {
  const queue = directQueueKey("c".repeat(100), "d".repeat(100));
  const request = { event_id: `${queue}:3:opened` };

  expect(alertEventHandlers.Show.input.safeParse(request).success).toBe(true);
  expect(alertEventHandlers.Retry.input.safeParse(request).success).toBe(true);
});

it.each([
  { queue: "verify-key", joining: 0, id: "verify-key:3:opened" },
  { queue: "verify-key@hook", joining: 0, id: "verify-key@hook:3:opened" },
  { queue: "verify-key@hook", joining: 2, id: "verify-key@hook:3-2:opened" },
  { queue: "drill:weekly@hook-1", joining: 1, id: "drill:weekly@hook-1:3-1:opened" },
])("$id says which event it is, and can be sent again", ({ queue, joining, id }) => {
  const name = { queue, episode: 3, joining, kind: "opened" } as const;

  expect(formatEventId(name)).toBe(id);
  expect(parseEventId(id)).toEqual(name);
  expect(alertEventHandlers.Retry.input.safeParse({ event_id: id }).success).toBe(true);
});

it.each(["verify-key", "verify-key:3", "verify-key:3:closed", "verify-key:3-:opened", ":3:opened"])(
  "%s is no id of an event",
  (id) => {
    expect(parseEventId(id)).toBeNull();
  },
);
