import { describe, expect, it } from "vitest";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { type Addressee, compareChannels, endReasonOf } from "#monitor/state/addressee.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/" });

const production: Addressee = {
  environment: "production",
  channel: "production",
  name: "Verify key",
  directChannels: [],
};
const nobody: Addressee = { ...production, channel: null };

const compare = (before: Addressee, check: Addressee) =>
  compareChannels("verify-key", before, check);

describe("an open alert ends", () => {
  it("when the check had a channel at the incident service and pages nobody now", () => {
    expect(endReasonOf(production, nobody)).toBe("the check pages nobody now");
  });

  it.each([
    { what: "the channels are the same", before: production, check: production },
    { what: "it paged nobody before", before: nobody, check: nobody },
    {
      what: "it pages another environment",
      before: production,
      check: { ...production, channel: "staging" },
    },
    { what: "it pages one for the first time", before: nobody, check: production },
    {
      what: "another channel is left",
      before: production,
      check: { ...nobody, directChannels: [chat] },
    },
  ] as const)("not when $what", ({ before, check }) => {
    expect(endReasonOf(before, check as Addressee)).toBeNull();
  });
});

describe("compareChannels", () => {
  it("has nothing to say of the same channels, also where the check has no direct ones", () => {
    const { directChannels: _, ...stored } = production;

    expect(compare(stored, production)).toBeNull();
  });

  it("tells who left from who joined, and counts who left", () => {
    const before = { ...production, directChannels: [chat] };

    const change = compare(before, { ...production, channel: "staging", directChannels: [hook] });

    expect(change).toMatchObject({ left: ["production", chat], joined: ["staging", hook] });
    expect(change?.addressee.joinings).toEqual({ "verify-key": 1, "verify-key@chat": 1 });
  });

  it("counts each time that a channel leaves, and forgets none while it is away", () => {
    const both = { ...production, directChannels: [chat, hook] };
    const without = { ...production, directChannels: [hook] };
    const steps = [
      without,
      both,
      without,
      { ...production, channel: null, directChannels: [hook] },
    ];

    const last = steps.reduce(
      (before, check) => compare(before, check)?.addressee ?? before,
      both as Addressee,
    );

    expect(last.joinings).toEqual({ "verify-key@chat": 2, "verify-key": 1 });
  });

  it("takes a corrected row for the same channel", () => {
    const corrected = { ...hook, url: "https://b.example.com/" };

    const change = compare(
      { ...production, directChannels: [hook] },
      { ...production, directChannels: [corrected] },
    );

    expect(change).toMatchObject({ left: [], joined: [], corrected: [corrected] });
    expect(change?.addressee).toMatchObject({ directChannels: [corrected], joinings: {} });
  });

  it("sends what joined under the name and the environment that the check has now", () => {
    const renamed = { ...production, name: "Verify", environment: "staging" } as const;

    const change = compare(production, { ...renamed, channel: "staging" });

    expect(change?.addressee).toMatchObject({ name: "Verify", environment: "staging" });
  });
});
