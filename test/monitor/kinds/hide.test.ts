import { expect, it } from "vitest";
import { hideSecrets } from "#kernel/secrets.ts";

it.each([
  ["as it is", "is s3cret/word here", ["s3cret/word"], "is *** here"],
  ["as escaped in JSON", String.raw`is "a\"bcd"`, ['a"bcd'], 'is "***"'],
  ["as an address has it", "is /x?key=s3cret%2Fword", ["s3cret/word"], "is /x?key=***"],
  ["with escaped slashes", String.raw`is "s3cret\/word"`, ["s3cret/word"], 'is "***"'],
  ["in lower-case escapes", "is /x?key=s3cret%2fword", ["s3cret/word"], "is /x?key=***"],
  ["as a form has it", "is a=the+word%21", ["the word!"], "is a=***"],
  ["as a page has it", "is &lt;s3cret&amp;word&quot;", ['<s3cret&word"'], "is ***"],
  ["in base16", "is 7333637265742f776f7264", ["s3cret/word"], "is ***"],
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
