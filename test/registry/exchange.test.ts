import { describe, expect, it } from "vitest";
import { type RegistryRequest, redirect } from "#registry/exchange.ts";

const aRequest = (address: string): RegistryRequest => ({
  method: "HEAD",
  address: new URL(address),
  headers: { accept: "*/*", authorization: "Basic secret" },
});

describe("redirect", () => {
  it("keeps the authorization on the same host", () => {
    const next = redirect(aRequest("https://reg.example.com/v2/a"), "/v2/b", []);

    expect(next.address.href).toBe("https://reg.example.com/v2/b");
    expect(next.headers["authorization"]).toBe("Basic secret");
  });

  it.each(["https://cdn.example.com/b", "https://reg.example.com:8443/b"])(
    "drops the authorization on the way to %s",
    (location) => {
      const next = redirect(aRequest("https://reg.example.com/v2/a"), location, []);

      expect(next.headers).toEqual({ accept: "*/*" });
    },
  );

  it.each([
    { from: "https://reg.example.com/a", location: "http://reg.example.com/b" },
    { from: "https://reg.example.com/a", location: "http://127.0.0.1:9470/deployments" },
    { from: "http://127.0.0.1:5000/a", location: "http://reg.example.com/b" },
    { from: "https://reg.example.com/a", location: "file:///etc/passwd" },
    { from: "https://reg.example.com/a", location: "https://" },
  ])("does not go from $from to $location", ({ from, location }) => {
    expect(() => redirect(aRequest(from), location, [])).toThrow("redirects to an unsafe address");
  });

  it("goes to plain http from a plain registry, where it is listed", () => {
    const insecure = ["reg.lan:5000", "store.lan"];

    const next = redirect(aRequest("http://reg.lan:5000/a"), "http://store.lan/b", insecure);

    expect(next.address.host).toBe("store.lan");
  });
});
