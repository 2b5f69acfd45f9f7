import { expect, it } from "vitest";
import { hideSecrets } from "#monitor/probe/hide.ts";

it.each([
  ["as it is", "is s3cret/word here", ["s3cret/word"], "is *** here"],
  ["as escaped in JSON", String.raw`is "a\"bcd"`, ['a"bcd'], 'is "***"'],
  ["as an address has it", "is /x?key=s3cret%2Fword", ["s3cret/word"], "is /x?key=***"],
  ["where it was cut", 'is "so s3cre…", expected', ["s3cret/word"], 'is "so ***…", expected'],
  ["whole when it begins with another", "is token-and-more", ["token", "token-and-more"], "is ***"],
])("hides a secret %s", (_, reason, secrets, hidden) => {
  expect(hideSecrets(reason, secrets)).toBe(hidden);
});

it.each(["", "a:", "ab:", "abc:"])(
  "hides a secret in base64 behind %s, but for its ends",
  (before) => {
    const secret = "s3cret/word-of-24-bytes!";
    const reason = `is ${Buffer.from(`${before}${secret}`).toString("base64")}`;

    const hidden = hideSecrets(reason, [secret]);

    expect(hidden).toContain("***");
    expect(hidden.replace("***", "").length).toBeLessThan(16);
  },
);
