import fc from "fast-check";
import { expect, it } from "vitest";
import { matchesAny, normalizeSource } from "#ci/sigstore/grade.ts";

it.each([
  ["abc", "abc", true],
  ["abc", "ab", false],
  ["abc", "bc", false],
  ["abc", "a*", true],
  ["abc", "*c", true],
  ["abc", "a*c", true],
  ["ac", "a*c", true],
  ["a", "a*a", false],
  ["aba", "a*b*a", true],
  ["abcbc", "a*bc", true],
  ["a\nc", "a*c", true],
  ["ABC", "abc", false],
  ["axc", "a.c", false],
  ["", "*", true],
])("%j fits %j: %s", (text, pattern, fits) => {
  expect(matchesAny(text, [pattern])).toBe(fits);
});

const workflow = "https://github.com/acme/gw/.github/workflows";

it.each([
  [`${workflow}/release.yml@refs/heads/x@refs/heads/main`, `${workflow}/*@refs/heads/main`],
  [
    `${workflow}/other.yml@refs/heads/a/release.yml@refs/heads/main`,
    "https://github.com/acme/*/release.yml@refs/heads/main",
  ],
  [`${workflow}/release.yml@refs/heads/x@refs/tags/v1`, `${workflow}/*@refs/tags/*`],
  ['"eve@evil.test"@acme.test', "*@acme.test"],
  [`${workflow}/release.yml`, `${workflow}/*@*`],
])("%s is no workflow at the ref, and no address, of %s", (text, pattern) => {
  expect(matchesAny(text, [pattern])).toBe(false);
});

it.each([
  [`${workflow}/release.yml@refs/heads/main`, `${workflow}/*@refs/heads/main`],
  [`${workflow}/release.yml@refs/heads/x@y`, `${workflow}/release.yml@refs/heads/*`],
  [`${workflow}/release.yml@refs/tags/v1`, "https://github.com/acme/*"],
  [`${workflow}/release.yml@refs/tags/v1`, `${workflow}/*v1`],
  ["ada@acme.test", "*@acme.test"],
])("%s is of %s", (text, pattern) => {
  expect(matchesAny(text, [pattern])).toBe(true);
});

it("no pattern fits nothing", () => {
  expect(matchesAny("abc", [])).toBe(false);
});

it("fits what a regular expression of the same meaning fits", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*"), maxLength: 6 });
  const check = fc.property(text, pattern, (name, wanted) => {
    const source = wanted.replaceAll(".", "\\.").replaceAll("*", ".*");
    expect(matchesAny(name, [wanted])).toBe(new RegExp(`^${source}$`).test(name));
  });

  fc.assert(check, { numRuns: 2000 });
});

it.each([
  "git+https://github.com/acme/gw@refs/heads/main",
  "git+https://GitHub.com/acme/gw.git@refs/tags/v1@2",
  "https://github.com/acme/gw.git#refs/heads/main",
  "https://token@github.com/acme/gw/",
  "https://github.com:443/acme/./gw",
  "https://github.com/acme/gw",
])("%s is the same source", (source) => {
  expect(normalizeSource(source)).toBe("https://github.com/acme/gw");
});

it.each([
  ["http://github.com/acme/gw", "http://github.com/acme/gw"],
  ["https://github.com/Acme/gw", "https://github.com/Acme/gw"],
  ["https://github.com/acme/../evil/gw", "https://github.com/evil/gw"],
  ["https://github.com@evil.test/acme/gw", "https://evil.test/acme/gw"],
  ["https://git.test/@team/gw@main", "https://git.test/@team/gw"],
  ["git+ssh://git@GitHub.com/acme/gw.git", "ssh://github.com/acme/gw"],
  ["https://*.acme.test/*", "https://*.acme.test/*"],
  ["pkg:docker/acme@1", "pkg:docker/acme@1"],
  ["git@github.com:acme/gw.git", "git@github.com:acme/gw.git"],
])("%s is %s", (source, normal) => {
  expect(normalizeSource(source)).toBe(normal);
});
