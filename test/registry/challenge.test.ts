import { describe, expect, it } from "vitest";
import { checkRealm, parseChallenge } from "#registry/challenge.ts";

const rules = { insecure: [], tokenHosts: [] };

describe("parseChallenge", () => {
  it("reads the address of the token service", () => {
    const header =
      'Bearer realm="https://auth.example.com/token",service="reg",scope="repository:a/b:pull,push"';

    expect(parseChallenge([header])).toEqual({
      scheme: "bearer",
      realm: "https://auth.example.com/token",
      service: "reg",
      scope: "repository:a/b:pull,push",
    });
  });

  it("reads values without quotes, and names in any case", () => {
    expect(parseChallenge(["bearer Realm=https://a.example/t, SERVICE=reg"])).toMatchObject({
      realm: "https://a.example/t",
      service: "reg",
      scope: "",
    });
  });

  it("reads a challenge for a password", () => {
    expect(parseChallenge(['Basic realm="Registry"'])).toEqual({ scheme: "basic" });
  });

  it("prefers a token to the password", () => {
    const headers = ['Basic realm="x"', 'Bearer realm="https://a.example/t"'];

    expect(parseChallenge(headers)?.scheme).toBe("bearer");
  });

  it.each([[[]], [["Negotiate"]], [["Bearer service=x"]], [[""]]])(
    "does not support %j",
    (headers) => {
      expect(parseChallenge(headers)).toBeUndefined();
    },
  );
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
])("parsing a challenge of %s takes time linear in its length", (_, rest) => {
  const timeOf = (text: string) => {
    const startedAt = performance.now();
    parseChallenge([`Bearer ${text}`]);
    return performance.now() - startedAt;
  };
  const shortMs = Math.min(...[1, 2, 3].map(() => timeOf(rest.slice(0, 6_000))));

  // Ten times the length: ten times the time, and not a hundred times.
  expect(timeOf(rest)).toBeLessThan(40 * shortMs + 50);
});
