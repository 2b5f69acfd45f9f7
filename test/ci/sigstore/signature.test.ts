/** What counts as a signature of an image, in each form in which one may be attached. */
import { expect, it } from "vitest";
import { attach, createSigner, release, simpleSigningOf } from "../../support/ci/signer.ts";
import { createBench, manifest, otherDigest, subject } from "../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { trustedRoot } = signer;
const { digest } = subject;

it("a statement about the image passes, and the answer names signer, issuer and type", async () => {
  const bundle = await signer.signStatement({ digest });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toEqual({
    result: "passed",
    detail: `signed by ${release.subject} (issuer ${release.issuer}) as https://sigstore.dev/cosign/sign/v1`,
  });
});

it("so does a statement of the older version", async () => {
  const bundle = await signer.signStatement({ digest, version: "v0.1" });

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it.each([
  ["without a predicate", (statement: object) => ({ ...statement, predicate: undefined })],
  [
    "about several images",
    ({ subject, ...statement }: { subject: object[] }) => ({
      ...statement,
      subject: [null, 1, {}, { digest: null }, { digest: { sha512: "a" } }, ...subject],
    }),
  ],
])("a statement %s passes", async (_name, change) => {
  const { dsseEnvelope } = await signer.signStatement({ digest });
  const statement = JSON.parse(Buffer.from(dsseEnvelope.payload, "base64").toString());
  const bundle = await signer.signEnvelope(Buffer.from(JSON.stringify(change(statement))));

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a statement of an unknown version proves nothing", async () => {
  const bundle = await signer.signStatement({ digest, version: "v9" });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("not a statement: _type"),
  });
});

it("a signature of the manifest's bytes passes", async () => {
  const bundle = await signer.signManifest(manifest);

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a signature of other bytes proves nothing", async () => {
  const bundle = await signer.signManifest(Buffer.from('{"schemaVersion":3}'));

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("another image"),
  });
});

it("a statement about another image proves nothing", async () => {
  const bundle = await signer.signStatement({ digest: otherDigest });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("another image"),
  });
});

it("an envelope of another type proves nothing, even with a statement in it", async () => {
  const { dsseEnvelope } = await signer.signStatement({ digest });
  const payload = Buffer.from(dsseEnvelope.payload, "base64");
  const bundle = await signer.signEnvelope(payload, { payloadType: "application/json" });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("type application/json"),
  });
});

it("a log of version 2 gives no time: with a signed timestamp it passes", async () => {
  const bundle = await signer.signStatement({ digest }, { log: { version: 2 }, isStamped: true });

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a log of version 2 gives no time: without a signed timestamp it proves nothing", async () => {
  const bundle = await signer.signStatement({ digest }, { log: { version: 2 } });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("expected 1 timestamps, got 0"),
  });
});

it("a statement of a type that is no signature is none: the signature is missing", async () => {
  const bundle = await signer.signStatement({ digest, predicateType: "https://spdx.dev/Document" });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding).toEqual({
    result: "missing",
    detail: "no signature is attached to the image; attached is https://spdx.dev/Document",
  });
});

it("it is one if the settings list its type", async () => {
  const predicateType = "https://acme.test/tested/v1";
  const bundle = await signer.signStatement({ digest, predicateType });
  const bench = createBench(trustedRoot, { predicates: [predicateType] });

  const { result } = await bench.checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("nothing attached is a missing signature", async () => {
  const finding = await createBench(trustedRoot).checkSignature();

  expect(finding).toEqual({
    result: "missing",
    detail: "no signature is attached to the image",
  });
});

it("a layer that nobody signs, such as a list of packages, is no signature", async () => {
  const layer = await signer.signSimpleSigning(simpleSigningOf(digest));

  const { result } = await createBench(trustedRoot).checkSignature({
    ...layer,
    mediaType: "text/spdx+json",
  });

  expect(result).toBe("missing");
});

it.each([
  ["https://a.test/runs/1", "https://a.test/runs/1"],
  [`https://a.test/${"r".repeat(300)}`, `https://a.test/${"r".repeat(300)}`],
  ["http://a.test/runs/1", undefined],
  ["https://user:secret@a.test/runs/1", undefined],
])("a certificate with the run %s is answered with the link %s", async (run, url) => {
  const bundle = await signer.signStatement({ digest }, { run });

  const finding = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(finding.url).toBe(url);
});
