/** Signatures by keys of the settings, without certificates. */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import {
  attach,
  createSigner,
  type SignOptions,
  simpleSigningOf,
} from "../../support/ci/signer.ts";
import { createBench, manifest, subject } from "../../support/ci/sigstore-bench.ts";
import { tempDir } from "../../support/temp-dir.ts";

const signer = await createSigner();
const { digest } = subject;

function createKey(folder: string, name = "cosign") {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const file = path.join(folder, `${name}.pub`);
  writeFileSync(file, publicKey.export({ format: "pem", type: "spki" }));
  return { file, key: privateKey };
}

type Check = { settings?: Parameters<typeof createBench>[1]; options?: SignOptions };

/** The answer about a statement that one of two allowed keys signs. */
async function check({ settings = {}, options = {} }: Check) {
  const folder = tempDir();
  const [other, own] = [createKey(folder, "other"), createKey(folder)];
  const bundle = await signer.signStatement({ digest }, { key: own.key, ...options });
  const files = { identities: {}, public_keys: [other.file, own.file] };
  const bench = createBench(signer.trustedRoot, { ...files, ...settings });
  const { result, detail } = await bench.checkSignature(attach(bundle));
  return `${result}: ${detail.replace(folder, "")}`;
}

it("each key of the settings is tried, and the answer names its file", async () => {
  expect(await check({})).toBe(
    "passed: signed by the key cosign.pub as https://sigstore.dev/cosign/sign/v1",
  );
});

it("another key may not sign", async () => {
  const { key } = createKey(tempDir());

  const answer = await check({ options: { key } });

  expect(answer).toMatch(/^unverifiable: .*signature verification failed/);
});

it("without keys in the settings no key counts", async () => {
  const answer = await check({ settings: { public_keys: [] } });

  expect(answer).toMatch(/^unverifiable: .*public_keys has none/);
});

it("a key's signature needs an entry of a log", async () => {
  const answer = await check({ options: { log: "none" } });

  expect(answer).toMatch(/^unverifiable: .*expected 1 tlog entries, got 0/);
});

it("without a log in the settings it needs none", async () => {
  const answer = await check({
    settings: { transparency_log: false },
    options: { log: "none" },
  });

  expect(answer).toMatch(/^passed/);
});

it("without a log in the settings, an entry of a foreign log makes no difference", async () => {
  const { trustedRoot } = await createSigner();
  const folder = tempDir();
  const { file, key } = createKey(folder);
  const bundle = await signer.signStatement({ digest }, { key });
  const settings = { identities: {}, public_keys: [file], transparency_log: false };

  const { result } = await createBench(trustedRoot, settings).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("keys without a log need no trusted root", async () => {
  const { file, key } = createKey(tempDir());
  const bundle = await signer.signStatement({ digest }, { key, log: "none" });
  const settings = {
    identities: {},
    public_keys: [file],
    transparency_log: false,
    trusted_root: "/nowhere/trusted_root.json",
  };

  const { result } = await createBench({}, settings).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a certificate still needs a signed timestamp when the settings are without a log", async () => {
  const bundle = await signer.signStatement({ digest }, { log: "none" });
  const bench = createBench(signer.trustedRoot, { transparency_log: false });

  const finding = await bench.checkSignature(attach(bundle));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("expected 1 timestamps, got 0"),
  });
});

it("a certificate with a signed timestamp passes when the settings are without a log", async () => {
  const bundle = await signer.signStatement({ digest }, { log: "none", isStamped: true });
  const bench = createBench(signer.trustedRoot, { transparency_log: false });

  const { result } = await bench.checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a key may sign the manifest's bytes", async () => {
  const { file, key } = createKey(tempDir());
  const bundle = await signer.signManifest(manifest, { key });
  const bench = createBench(signer.trustedRoot, { public_keys: [file] });

  const { result } = await bench.checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a key may sign cosign's payload", async () => {
  const { file, key } = createKey(tempDir());
  const layer = await signer.signSimpleSigning(simpleSigningOf(digest), { key });
  const bench = createBench(signer.trustedRoot, { public_keys: [file] });

  const { result } = await bench.checkSignature(layer);

  expect(result).toBe("passed");
});

it("a file that is not there ends the start, by its name", () => {
  const open = () => createBench({}, { public_keys: ["/nowhere/cosign.pub"] });

  expect(open).toThrow("ci.sigstore.public_keys: /nowhere/cosign.pub cannot be read (ENOENT)");
});

it("a file that is no public key ends the start, by its name", () => {
  const file = path.join(tempDir(), "cosign.pub");
  writeFileSync(file, "hello");

  expect(() => createBench({}, { public_keys: [file] })).toThrow(
    `ci.sigstore.public_keys: ${file} is not a PEM file of a public key`,
  );
});

it("a private key ends the start: it does not belong here", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const file = path.join(tempDir(), "cosign.key");
  writeFileSync(file, privateKey.export({ format: "pem", type: "pkcs8" }));

  expect(() => createBench({}, { public_keys: [file] })).toThrow("is not a PEM file");
});
