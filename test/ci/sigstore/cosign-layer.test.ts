/** Signatures in cosign's own tags: `sha256-<hex>.sig` and `.att`. */
import { expect, it } from "vitest";
import {
  type CosignLayer,
  createSigner,
  type SignOptions,
  simpleSigningOf,
} from "../../support/ci/signer.ts";
import { createBench, otherDigest, subject } from "../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { digest } = subject;
const signature = "dev.cosignproject.cosign/signature";
const certificate = "dev.sigstore.cosign/certificate";
const bundle = "dev.sigstore.cosign/bundle";

async function checkLayer(layer: CosignLayer, settings: Parameters<typeof createBench>[1] = {}) {
  const { result, detail } = await createBench(signer.trustedRoot, settings).checkSignature(layer);
  return `${result}: ${detail}`;
}

const signLayer = (payload: Buffer, options: SignOptions = {}) =>
  signer.signSimpleSigning(payload, options);

/** A valid layer with one annotation replaced. */
async function annotated(name: string, value: string): Promise<CosignLayer> {
  const layer = await signLayer(simpleSigningOf(digest));
  return { ...layer, annotations: { ...layer.annotations, [name]: value } };
}

it("a payload about the image passes", async () => {
  expect(await checkLayer(await signLayer(simpleSigningOf(digest)))).toMatch(/^passed: signed by/);
});

it("a payload about another image proves nothing", async () => {
  const answer = await checkLayer(await signLayer(simpleSigningOf(otherDigest)));

  expect(answer).toMatch(/^unverifiable: .*is about another image/);
});

it("a payload of another type proves nothing", async () => {
  const answer = await checkLayer(await signLayer(simpleSigningOf(digest, "something else")));

  expect(answer).toMatch(/^unverifiable: .*not a signature of an image: critical.type/);
});

it("a payload that was changed proves nothing", async () => {
  const layer = await signLayer(simpleSigningOf(otherDigest));

  const answer = await checkLayer({ ...layer, body: simpleSigningOf(digest) });

  expect(answer).toMatch(/^unverifiable/);
});

it("a signed timestamp is read too", async () => {
  const layer = await signLayer(simpleSigningOf(digest), { log: "none", isStamped: true });

  expect(await checkLayer(layer, { transparency_log: false })).toMatch(/^passed/);
});

it.each([
  [signature, "AAAA", "signature mismatch"],
  [signature, "", "no signature among its annotations"],
  [certificate, "hello", "certificate that cannot be read"],
  [certificate, "", "is signed by a key"],
  [bundle, "", "expected 1 timestamps, got 0"],
  [bundle, "{", "is not JSON"],
  [bundle, "{}", "not an entry of a log: SignedEntryTimestamp"],
  [bundle, "null", "not an entry of a log"],
  ["dev.sigstore.cosign/rfc3161timestamp", "{}", "not a timestamp"],
])("with %s as %j it proves nothing", async (name, value, reason) => {
  const answer = await checkLayer(await annotated(name, value));

  expect(answer).toContain("unverifiable");
  expect(answer).toContain(reason);
});

it("with an entry that a log did not promise it proves nothing", async () => {
  const layer = await signLayer(simpleSigningOf(digest));
  const entry = JSON.parse(layer.annotations[bundle] ?? "");
  entry.Payload.integratedTime++;
  const annotations = { ...layer.annotations, [bundle]: JSON.stringify(entry) };

  const answer = await checkLayer({ ...layer, annotations });

  expect(answer).toMatch(/^unverifiable: .*promise could not be verified/);
});

it("a statement about the image passes", async () => {
  const layer = await signer.signStatementLayer({ digest });

  expect(await checkLayer(layer)).toMatch(/^passed/);
});

it("a statement about another image proves nothing", async () => {
  const layer = await signer.signStatementLayer({ digest: otherDigest });

  expect(await checkLayer(layer)).toMatch(/^unverifiable: .*another image/);
});
