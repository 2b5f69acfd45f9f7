import { describe, expect, it } from "vitest";
import { checkRealm, parseChallenges } from "#registry/challenge.ts";

const rules = { insecure: [], tokenHosts: [] };

const token = (realm: string, over: object = {}) => ({
  scheme: "bearer",
  realm,
  service: "",
  scope: "",
  ...over,
});

describe("parseChallenges", () => {
  it("reads the address of the token service", () => {
    const header =
      'Bearer realm="https://auth.example.com/token",service="reg",scope="repository:a/b:pull,push"';

    expect(parseChallenges([header])).toEqual([
      {
        scheme: "bearer",
        realm: "https://auth.example.com/token",
        service: "reg",
        scope: "repository:a/b:pull,push",
      },
    ]);
  });

  it("reads values without quotes, and names in any case", () => {
    expect(parseChallenges(["bearer Realm=https://a.example/t, SERVICE=reg"])).toEqual([
      token("https://a.example/t", { service: "reg" }),
    ]);
  });

  it("reads a challenge for a password", () => {
    expect(parseChallenges(['Basic realm="Registry"'])).toEqual([{ scheme: "basic" }]);
  });

  it.each([
    ["two headers", ['Basic realm="x"', 'Bearer realm="https://a.example/t"']],
    ["one header", ['Basic realm="x", Bearer realm="https://a.example/t"']],
    ["one header in the other order", ['Bearer realm="https://a.example/t",Basic realm="x"']],
    ["one header without blanks", ['BASIC realm=x,BEARER realm="https://a.example/t"']],
    ["a list with empty elements", [', ,Basic realm="x",, Bearer realm="https://a.example/t",']],
  ])("puts the token of %s before the password", (_, headers) => {
    expect(parseChallenges(headers)).toEqual([token("https://a.example/t"), { scheme: "basic" }]);
  });

  it.each([
    ["a scheme without parameters", "Negotiate, "],
    ["two of them", "Negotiate, NTLM,"],
    ["a value of no parameter", "Negotiate YIIabc/+==, "],
    ["a value with one sign at its end", "Negotiate oYG2MIGzoAMKAQ=, "],
    ["a value without one", "NTLM TlRMTVNTUAAB ,"],
    ["parameters of its own", 'Digest realm="r", qop="auth, auth-int", nonce="a\\"b, Basic", '],
    ["the same parameters", 'Custom realm="https://evil.example/t", service="evil", scope="e", '],
    ["a quoted text with another challenge", 'Newauth title="x, Basic realm=\\"y\\"", '],
  ])("reads a token's parameters after %s", (_, before) => {
    const header = `${before}Bearer realm="https://a.example/t",service="s"`;

    expect(parseChallenges([header])).toEqual([token("https://a.example/t", { service: "s" })]);
  });

  it("reads a token's parameters before those of other schemes", () => {
    const header =
      'Bearer realm="https://a.example/t", Basic realm="r", service="x", Negotiate, Digest scope="y"';

    expect(parseChallenges([header])).toEqual([token("https://a.example/t"), { scheme: "basic" }]);
  });

  it("reads blanks around the equals sign", () => {
    const header = 'Bearer realm = "https://a.example/t" ,\tservice\t=reg , scope= "s"';

    expect(parseChallenges([header])).toEqual([
      token("https://a.example/t", { service: "reg", scope: "s" }),
    ]);
  });

  it("reads quoted texts with commas and escapes", () => {
    const header = String.raw`Bearer realm="https://a.example/t",service="reg, \"quoted\" \\"`;

    expect(parseChallenges([header])).toEqual([
      token("https://a.example/t", { service: 'reg, "quoted" \\' }),
    ]);
  });

  it("keeps several tokens in their order", () => {
    const header = 'Bearer realm="https://a.example/t", Bearer realm="https://b.example/t"';

    expect(parseChallenges([header])).toEqual([
      token("https://a.example/t"),
      token("https://b.example/t"),
    ]);
  });

  it.each([
    [[]],
    [["Negotiate"]],
    [["Bearer service=x"]],
    [['Bearer realm=""']],
    [["Bearer"]],
    [[""]],
  ])("supports nothing in %j", (headers) => {
    expect(parseChallenges(headers)).toEqual([]);
  });

  it.each([
    'Bearer realm="https://a.example/t',
    "Bearer realm=, Basic realm",
    'realm="https://a.example/t"',
    '"Bearer realm=x"',
    "=, ==, =x",
  ])("reads no token from %s", (header) => {
    expect(parseChallenges([header]).filter(({ scheme }) => scheme === "bearer")).toEqual([]);
  });
});

describe("checkRealm", () => {
  it.each([
    { realm: "https://ghcr.io/token", registry: "ghcr.io" },
    { realm: "https://auth.docker.io/token", registry: "registry-1.docker.io" },
    { realm: "https://gitlab.com/jwt/auth", registry: "registry.gitlab.com" },
    { realm: "https://gitlab.example.co.uk/jwt/auth", registry: "registry.example.co.uk" },
    { realm: "https://auth.example.com:8443/t", registry: "example.com:5000" },
    { realm: "http://127.0.0.1:9000/t", registry: "localhost:5000" },
    { realm: "https://10.0.0.1/t", registry: "10.0.0.1:5000" },
  ])("accepts $realm for $registry", ({ realm, registry }) => {
    expect(checkRealm(realm, registry, rules).href).toBe(realm);
  });

  it.each([
    { realm: "https://evil.example.net/t", registry: "registry.example.com" },
    { realm: "https://evilexample.com/t", registry: "registry.example.com" },
    { realm: "https://evil.io/t", registry: "ghcr.io" },
    { realm: "https://11.0.0.1/t", registry: "10.0.0.1:5000" },
    { realm: "http://127.0.0.1:9470/t", registry: "registry.example.com" },
    { realm: "https://registry.example.com/t", registry: "127.0.0.1:5000" },
    { realm: "https://registry.example.com@evil.example.net/t", registry: "registry.example.com" },
  ])("refuses the foreign $realm for $registry", ({ realm, registry }) => {
    expect(() => checkRealm(realm, registry, rules)).toThrow("a foreign host");
  });

  it("refuses to send a password unencrypted", () => {
    expect(() => checkRealm("http://auth.example.com/t", "registry.example.com", rules)).toThrow(
      "unencrypted",
    );
  });

  it.each(["file:///etc/passwd", "token", "ftp://registry.example.com/t"])(
    "refuses %s, which is not an http address",
    (realm) => {
      expect(() => checkRealm(realm, "registry.example.com", rules)).toThrow(
        expect.objectContaining({ code: "registry_auth" }),
      );
    },
  );

  it("accepts a foreign host that is listed", () => {
    const listed = { insecure: [], tokenHosts: ["api.scaleway.com"] };

    const address = checkRealm("https://api.scaleway.com/t", "rg.fr-par.scw.cloud", listed);

    expect(address.host).toBe("api.scaleway.com");
  });

  it("accepts plain http for a listed host", () => {
    const listed = { insecure: ["registry.lan:5001"], tokenHosts: [] };

    const address = checkRealm("http://registry.lan:5001/t", "registry.lan:5000", listed);

    expect(address.protocol).toBe("http:");
  });
});

it.each([
  ["words without a value", "a".repeat(60_000)],
  ["a value without an end", `realm="${"x".repeat(60_000)}`],
  ["values without an end", 'a="\\"'.repeat(15_000)],
  ["blanks", `a${" ".repeat(60_000)}b`],
  ["words and blanks", "a  b".repeat(15_000)],
  ["equals signs", "a=".repeat(30_000)],
])("parsing a challenge of %s takes time linear in its length", (_, rest) => {
  const timeOf = (text: string) => {
    const startedAt = performance.now();
    parseChallenges([`Bearer ${text}`]);
    return performance.now() - startedAt;
  };
  const shortMs = Math.min(...[1, 2, 3].map(() => timeOf(rest.slice(0, 6_000))));

  // Ten times the length: ten times the time, and not a hundred times.
  expect(timeOf(rest)).toBeLessThan(40 * shortMs + 50);
});
