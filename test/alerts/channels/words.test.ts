import { describe, expect, it } from "vitest";
import { factsOf, headline } from "#alerts/channels/words.ts";
import { newYearMs } from "../../support/alerts/alert-builders.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

const factOf = (message: ReturnType<typeof buildMessage>, name: string) =>
  factsOf(message).find((fact) => fact.name === name)?.text;

describe("headline", () => {
  it("has state, name and cause within the first 60 characters, however long the name", () => {
    const line = headline(buildMessage({ name: "A name ".repeat(20) }));

    expect(line.slice(0, 60)).toMatch(/^Failed: A name .*…: status 500$/);
  });

  it("of a recovery says how long it took and what had failed", () => {
    expect(headline(buildMessage({ kind: "resolved" }))).toBe(
      "Recovered after 4 min: Verify key. It had failed: status 500",
    );
  });

  it("of an alert that closed otherwise says why", () => {
    const message = buildMessage({ kind: "resolved", endedBecause: "the check was removed" });

    expect(headline(message)).toBe(
      "Closed after 4 min: Verify key: the check was removed. It had failed: status 500",
    );
  });

  it("marks a test, and is one line", () => {
    const message = buildMessage({ isTest: true, reason: "two\nlines" });

    expect(headline(message)).toBe("[TEST] Failed: Verify key: two lines");
  });
});

describe("factsOf", () => {
  it("names the rollout that was in progress, and its wave", () => {
    const message = buildMessage({ rollout: { id: "r-7", wave: 2, endedAtMs: null } });

    expect(factOf(message, "Rollout")).toBe("During rollout r-7, wave 2");
  });

  it("says how long before a rollout had ended", () => {
    const endedAtMs = newYearMs - 12 * 60_000;
    const message = buildMessage({ rollout: { id: "r-7", wave: 2, endedAtMs } });

    expect(factOf(message, "Rollout")).toBe("Rollout r-7 ended 12 min before");
  });

  it("says since when and for how long, in UTC", () => {
    expect(factOf(buildMessage({ kind: "resolved" }), "Since")).toBe(
      "2026-01-01 00:00:00 UTC, for 4 min",
    );
  });

  it("names ten places at most", () => {
    const locations = Array.from({ length: 22 }, (_, i) => `p${i}`);

    expect(factOf(buildMessage({ locations }), "Where")).toMatch(/, p9 and 12 more$/);
  });
});
