import { expect, it } from "vitest";
import { findGap, sigstoreConfig } from "#ci/sigstore/config.ts";

const identities = { release: { issuer: "https://issuer.test", subject: "https://a.test/*" } };

it("the configuration has defaults: the public instance, with its log, and nobody who may sign", () => {
  expect(sigstoreConfig.parse(undefined)).toEqual({
    identities: {},
    public_keys: [],
    trusted_root: "",
    tuf_url: "",
    tuf_root: "",
    transparency_log: true,
    builders: [],
    sources: [],
    predicates: [
      "https://sigstore.dev/cosign/sign/v1",
      "https://slsa.dev/provenance/v1",
      "https://slsa.dev/provenance/v0.2",
    ],
  });
});

it("the configuration reads what the environment has as text", () => {
  const text = {
    public_keys: "a.pub, b.pub",
    transparency_log: "off",
    builders: "https://a.test,https://b.test/*",
    sources: "https://github.com/acme/gw",
    predicates: "https://acme.test/v1",
  };

  expect(sigstoreConfig.parse(text)).toMatchObject({
    public_keys: ["a.pub", "b.pub"],
    transparency_log: false,
    builders: ["https://a.test", "https://b.test/*"],
    sources: ["https://github.com/acme/gw"],
    predicates: ["https://acme.test/v1"],
  });
});

it.each([
  [{ identities: { a: { issuer: "x", subject: "*" } } }, "would be everybody"],
  [{ identities: { a: { issuer: "", subject: "x" } } }, "must not be empty"],
  [{ identities: { a: { issuer: "x" } } }, "expected text"],
  [{ tuf_url: "https://tuf.test" }, "belong together"],
  [{ tuf_root: "root.json" }, "belong together"],
  [{ tuf_url: "https://tuf.test", tuf_root: "a", trusted_root: "b" }, "is not read"],
  [{ tuf_url: "https://robot:secret@tuf.test", tuf_root: "a" }, "no user and no password"],
  [{ sources: ["https://github.com/acme/gw@refs/heads/main"] }, "without @ and #"],
  [{ identity: {} }, "identity"],
])("%j is refused", (settings, reason) => {
  const parsed = sigstoreConfig.safeParse(settings);

  expect(parsed.error?.message).toContain(reason);
});

it.each([
  ["signature", {}, "ci.sigstore.identities"],
  ["signature", { identities }, undefined],
  ["signature", { public_keys: ["a.pub"] }, undefined],
  ["provenance", { builders: ["a"], sources: ["b"] }, "ci.sigstore.identities"],
  ["provenance", { identities, sources: ["b"] }, "ci.sigstore.builders"],
  ["provenance", { identities, builders: ["a"] }, "ci.sigstore.sources"],
  ["provenance", { identities, builders: ["a"], sources: ["b"] }, undefined],
] as const)("%s with %j lacks %s", (kind, settings, missing) => {
  const gap = findGap(kind, sigstoreConfig.parse(settings));

  if (missing === undefined) expect(gap).toBeUndefined();
  else expect(gap).toContain(missing);
});
