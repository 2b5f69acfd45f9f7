import { describe, expect, it } from "vitest";
import { isApiOf, isSameRepository, readRepository } from "#ci/commit/repository.ts";

describe("readRepository", () => {
  it.each([
    "https://github.com/acme/gateway",
    "https://GitHub.com/acme/gateway.git",
    "https://github.com/acme/gateway/",
    " https://github.com/acme/gateway ",
  ])("reads %j", (address) => {
    expect(readRepository(address)).toEqual({
      url: "https://github.com/acme/gateway",
      owner: "acme",
      name: "gateway",
    });
  });

  it.each([
    "",
    "acme/gateway",
    "git@github.com:acme/gateway.git",
    "https://github.com/acme",
    "https://github.com/acme/gateway/tree/main",
    "https://github.com/acme/..",
    "https://github.com/acme/.",
    "https://github.com/acme/%2e%2e",
    "https://github.com/acme/a?b",
    "javascript:alert(1)",
    "ftp://github.com/acme/gateway",
  ])("refuses %j", (address) => {
    const repository = readRepository(address);

    // A query is no part of a repository's name.
    expect(repository === undefined || repository.url === "https://github.com/acme/a").toBe(true);
  });
});

describe("isSameRepository", () => {
  const read = (address: string) => readRepository(address) ?? { url: "", owner: "", name: "" };

  it("ignores upper and lower case, as GitHub does", () => {
    const one = read("https://github.com/Acme/Gateway");

    expect(isSameRepository(one, read("https://github.com/acme/gateway"))).toBe(true);
  });

  it.each([
    "https://github.com/acme/gateway2",
    "https://github.com.evil.example/acme/gateway",
    "http://github.com/acme/gateway",
  ])("takes %s for another one", (other) => {
    const one = read("https://github.com/acme/gateway");

    expect(isSameRepository(one, read(other))).toBe(false);
  });
});

describe("isApiOf", () => {
  it.each([
    ["https://github.com/acme/gateway", "https://api.github.com", true],
    ["https://github.example.com/acme/gateway", "https://github.example.com/api/v3", true],
    ["https://git.example.com/acme/gateway", "https://git.example.com:3000/api/v1", true],
    ["https://git.example.com/acme/gateway", "https://api.github.com", false],
    ["https://github.com/acme/gateway", "https://api.github.com.evil.example", false],
  ])("of %s, %s: %s", (repository, api, expected) => {
    expect(isApiOf(repository, api)).toBe(expected);
  });
});
