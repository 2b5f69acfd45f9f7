/** Bundles that are not what they seem: each differs in one thing from one that passes. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { expect, it } from "vitest";
import { attach, createSigner, type SignOptions } from "../../support/ci/signer.ts";
import { createBench, subject } from "../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { digest } = subject;
const statement = await signer.signStatement({ digest });
const hour = 60 * 60_000;

/** The answer to a bundle, in one line. */
async function check(bundle: object, trustedRoot: object = signer.trustedRoot) {
  const { result, detail } = await createBench(trustedRoot).checkSignature(attach(bundle));
  return `${result}: ${detail}`;
}

type Bundle = typeof statement;

/** The statement's bundle after one change. */
function altered(alter: (bundle: Bundle) => void): Bundle {
  const copy = structuredClone(statement);
  alter(copy);
  return copy;
}

const entryOf = ({ verificationMaterial }: Bundle) => {
  const [entry] = verificationMaterial.tlogEntries;
  if (entry === undefined) throw new Error("has no entry");
  return entry;
};

it("unchanged it passes", async () => {
  expect(await check(statement)).toMatch(/^passed/);
});

it("by an authority that we do not trust", async () => {
  const other = await createSigner();

  const answer = await check(await other.signStatement({ digest }));

  expect(answer).toMatch(/^unverifiable/);
});

it("by an authority that we do not trust, in a log that we do trust", async () => {
  const other = await createSigner();
  const trustedRoot = {
    ...signer.trustedRoot,
    certificateAuthorities: other.trustedRoot.certificateAuthorities,
  };

  const answer = await check(statement, trustedRoot);

  expect(answer).toMatch(/^unverifiable: .*Failed to verify certificate chain/);
});

it("by an authority that is no longer trusted at that time", async () => {
  const root = structuredClone(signer.trustedRoot);
  for (const { validFor } of root.certificateAuthorities) {
    validFor.end = new Date(signer.now.getTime() - hour).toISOString();
  }

  const answer = await check(statement, root);

  expect(answer).toMatch(/^unverifiable: .*Failed to verify certificate chain/);
});

it("with a certificate that had expired", async () => {
  const at = new Date(signer.now.getTime() + hour);

  const answer = await check(await signer.signStatement({ digest }, { log: { at } }));

  expect(answer).toMatch(/^unverifiable: .*not valid or expired/);
});

it("with a certificate that is in no log of certificates", async () => {
  const other = await createSigner();
  const trustedRoot = { ...signer.trustedRoot, ctlogs: other.trustedRoot.ctlogs };

  const answer = await check(statement, trustedRoot);

  expect(answer).toMatch(/^unverifiable: .*SCT verification failed/);
});

it("with another payload", async () => {
  const other = await signer.signStatement({ digest, predicate: { changed: true } });
  const forged = altered((bundle) => {
    bundle.dsseEnvelope.payload = other.dsseEnvelope.payload;
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*payload hash mismatch/);
});

it("with the signature of another", async () => {
  const other = await signer.signStatement({ digest, predicate: { changed: true } });
  const forged = altered((bundle) => {
    bundle.dsseEnvelope.signatures = other.dsseEnvelope.signatures;
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*signature mismatch/);
});

it("with the certificate of another", async () => {
  const other = await signer.signStatement({ digest });
  const forged = altered((bundle) => {
    bundle.verificationMaterial.certificate = other.verificationMaterial.certificate ?? {
      rawBytes: "",
    };
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*signature verification failed/);
});

it("with another time in the log's promise", async () => {
  const forged = altered((bundle) => {
    const entry = entryOf(bundle);
    entry.integratedTime = `${Number(entry.integratedTime) + 1}`;
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*promise could not be verified/);
});

it("with a changed promise of the log", async () => {
  const forged = altered((bundle) => {
    entryOf(bundle).inclusionPromise = { signedEntryTimestamp: "AAAA" };
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*promise could not be verified/);
});

it("with the entry of another", async () => {
  const other = await signer.signStatement({ digest, predicate: { changed: true } });
  const forged = altered((bundle) => {
    bundle.verificationMaterial.tlogEntries = other.verificationMaterial.tlogEntries;
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*tlog entry signature mismatch/);
});

it("with a changed proof of the log", async () => {
  const forged = altered((bundle) => {
    entryOf(bundle).inclusionProof.hashes = [Buffer.alloc(32).toString("base64")];
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*root hash does not match/);
});

it("without an entry of a log", async () => {
  const forged = altered((bundle) => {
    bundle.verificationMaterial.tlogEntries = [];
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*expected 1 timestamps, got 0/);
});

it("without an entry of a log, but with a signed timestamp", async () => {
  const bundle = await signer.signStatement({ digest }, { log: "none", isStamped: true });

  expect(await check(bundle)).toMatch(/^unverifiable: .*expected 1 tlog entries, got 0/);
});

it("with the timestamp of another", async () => {
  const other = await signer.signStatement({ digest }, { isStamped: true });
  const forged = altered((bundle) => {
    bundle.verificationMaterial.timestampVerificationData =
      other.verificationMaterial.timestampVerificationData;
  });

  expect(await check(forged)).toMatch(/^unverifiable: .*timestamp could not be verified/);
});

x509.cryptoProvider.set(globalThis.crypto);

/** A certificate of a private authority, which is valid but for what differs. */
async function createPrivateSigner(names: x509.JsonGeneralNames, usages: string[]) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const authority = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const valid = {
    notBefore: new Date(signer.now.getTime() - hour),
    notAfter: new Date(signer.now.getTime() + hour),
    signingAlgorithm: algorithm,
  };
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...valid,
    name: "CN=acme",
    keys: authority,
    extensions: [new x509.BasicConstraintsExtension(true)],
  });
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const leaf = await x509.X509CertificateGenerator.create({
    ...valid,
    subject: "CN=leaf",
    issuer: "CN=acme",
    publicKey: await importKey(publicKey),
    signingKey: authority.privateKey,
    extensions: [
      new x509.ExtendedKeyUsageExtension(usages),
      new x509.SubjectAlternativeNameExtension(names),
      new x509.Extension("1.3.6.1.4.1.57264.1.1", false, Buffer.from("https://issuer.test")),
    ],
  });
  const rawBytes = Buffer.from(root.rawData).toString("base64");
  const certificateAuthorities = [{ certChain: { certificates: [{ rawBytes }] } }];
  const trustedRoot = { ...signer.trustedRoot, certificateAuthorities };
  return { trustedRoot, leaf: { key: privateKey, certificate: Buffer.from(leaf.rawData) } };
}

function importKey(key: KeyObject) {
  const bytes = key.export({ format: "der", type: "spki" }) as Buffer<ArrayBuffer>;
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  return crypto.subtle.importKey("spki", bytes, algorithm, true, ["verify"]);
}

const address = { type: "email", value: "release@acme.test" } as const;
const codeSigning = "1.3.6.1.5.5.7.3.3";

/** The answer about an image signed with such a certificate, without logs unless the options have one. */
async function checkPrivate(
  names: x509.JsonGeneralNames,
  usages: string[],
  options: SignOptions = { log: "none", isStamped: true },
) {
  const { trustedRoot, leaf } = await createPrivateSigner(names, usages);
  const identity = { subject: "release@acme.test", issuer: "https://issuer.test" };
  const settings = { transparency_log: options.log !== "none", identities: { identity } };
  const bundle = await signer.signStatement({ digest }, { leaf, ...options });
  const { result, detail } = await createBench(trustedRoot, settings).checkSignature(
    attach(bundle),
  );
  return `${result}: ${detail}`;
}

it("a private authority's certificate for an address passes", async () => {
  expect(await checkPrivate([address], [codeSigning])).toMatch(/^passed/);
});

it("with a certificate that is for a server", async () => {
  const answer = await checkPrivate([address], ["1.3.6.1.5.5.7.3.1"]);

  expect(answer).toMatch(/^unverifiable: .*not for signing code/);
});

it("with a certificate of several names", async () => {
  const answer = await checkPrivate(
    [address, { type: "email", value: "evil@acme.test" }],
    [codeSigning],
  );

  expect(answer).toMatch(/^unverifiable: .*exactly one address/);
});

it("with a certificate that is in no log at all, when logs are required", async () => {
  const answer = await checkPrivate([address], [codeSigning], {});

  expect(answer).toMatch(/^unverifiable: .*expected 1 SCTs, got 0/);
});
