import { describe, expect, it } from "vitest";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { factsOf, headline, linksOf } from "#alerts/channels/words.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

const note = {
  id: "r-7",
  image: "registry.example.com/vedette/sentinel:v7",
  wave: 2,
  endedAtMs: null,
  summary: "During wave 2 of the rollout of registry.example.com/vedette/sentinel:v7",
  url: "https://vedette.example.com/console/history/r-7",
};

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
  it("has one line of what changed before, with the likeliest and the number of others", () => {
    const suspect = {
      id: "a",
      kind: "rollout",
      atMs: 0,
      who: null,
      score: 0.93,
      text: "wave 2 …",
    } as const;
    const textOf = (changes: AlertMessage["changes"]) =>
      factsOf(buildMessage({ changes })).find(({ name }) => name === "Changed before")?.text;

    expect(textOf([suspect])).toBe("93 %: wave 2 …");
    expect(textOf([suspect, suspect])).toBe("93 %: wave 2 … (and 1 more)");
    expect(textOf([])).toBeUndefined();
  });

  it("has the summary of the rollout that may be the cause", () => {
    const message = buildMessage({ rollout: note });

    expect(factOf(message, "Rollout")).toBe(note.summary);
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

describe("linksOf", () => {
  it("has the pages of the check and of the rollout", () => {
    expect(linksOf(buildMessage({ url: "https://c.example.com", rollout: note }))).toEqual([
      { text: "Open check", href: "https://c.example.com" },
      { text: "Open rollout", href: note.url },
    ]);
  });

  it("has none while the address of the console is not known", () => {
    expect(linksOf(buildMessage({ url: null, rollout: { ...note, url: null } }))).toEqual([]);
  });
});
