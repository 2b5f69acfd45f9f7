import { describe, expect, it } from "vitest";
import { createAttempt } from "#alerts/attempt.ts";
import type { FindChannel } from "#alerts/channels/message.ts";
import type { RoutedOrder } from "#alerts/order.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { buildDirectOrder, noLinks } from "../support/alerts/alert-builders.ts";

const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/old" });
const down: Outcome = { kind: "retry", cause: "not reached: ECONNREFUSED" };
const refused: Outcome = { kind: "refused", cause: "status 413" };
const accepted: Outcome = { kind: "accepted" };
const minuteMs = 60_000;

async function attempt(how: {
  found: Awaited<ReturnType<FindChannel>>;
  answer?: Outcome;
  ageMs?: number;
}) {
  const sentTo: DirectChannel[] = [];
  const deliver = createAttempt({
    sourceOf: () => undefined,
    linkTo: noLinks,
    timeoutMs: 1_000,
    webhookUrlOf: () => "",
    findChannel: async () => how.found,
    send: async (channel) => {
      sentTo.push(channel);
      return how.answer ?? accepted;
    },
  });
  const event = { openedAtMs: Date.now() - (how.ageMs ?? 0) };
  const outcome = await deliver(buildDirectOrder(hook, event) as RoutedOrder);
  return { outcome, sentTo };
}

it("an event goes to the row in force", async () => {
  const corrected = { ...hook, url: "https://a.example.com/new" };

  const { sentTo } = await attempt({ found: corrected });

  expect(sentTo).toEqual([corrected]);
});

it.each(["removed", undefined] as const)(
  "it goes to its own row when that is %s",
  async (found) => {
    const { outcome, sentTo } = await attempt({ found });

    expect(sentTo).toEqual([hook]);
    expect(outcome).toEqual(accepted);
  },
);

describe("a channel that was removed", () => {
  const found = "removed";

  it("is tried again within an hour of the event", async () => {
    const { outcome } = await attempt({ found, answer: down, ageMs: 50 * minuteMs });

    expect(outcome).toEqual(down);
  });

  it.each([
    ["is not tried for longer", down, 70 * minuteMs],
    ["leaves no dead letter", refused, 0],
  ])("%s", async (_, answer, ageMs) => {
    const { outcome } = await attempt({ found, answer, ageMs });

    const cause = `the channel was removed: ${(answer as typeof refused).cause}`;
    expect(outcome).toEqual({ kind: "unconfigured", cause });
  });
});

it("a channel whose row cannot be read is tried as any other", async () => {
  const { outcome } = await attempt({ found: undefined, answer: down, ageMs: 70 * minuteMs });

  expect(outcome).toEqual(down);
});

it.each<Outcome>([
  { kind: "refused", cause: "status 400: bad vedette_root_abcdefghijkl" },
  { kind: "retry", cause: "status 502: postgres://gw:abcdefghijkl@db", afterMs: 5 },
  { kind: "accepted", remark: "sent to https://hooks.slack.com/services/abcdefghijkl" },
])("a secret in the words of a receiver is masked: %o", async (answer) => {
  const { outcome } = await attempt({ found: hook, answer });

  expect(outcome.kind).toBe(answer.kind);
  expect(JSON.stringify(outcome)).toContain("***");
  expect(JSON.stringify(outcome)).not.toContain("abcdefghijkl");
});
