/**
 * Finds the signer of a bundle.
 *
 * A certificate is valid for minutes, so it has to be known when it signed, and not from the bundle itself. It always
 * needs a timestamp: a log's promise, which the log signs together with its time, or one of a timestamp authority. The
 * library verifies each that is there, and each entry of a log, and refuses the bundle if one of them is wrong. With
 * `transparency_log` it needs an entry in a log as well, and has to be in a log of certificates itself.
 *
 * A key counts until its file is removed, whenever it signed. With `transparency_log` its signature needs an entry in a
 * log; without, what the bundle has about logs and times is not looked at, as it would decide nothing.
 */
import { X509Certificate } from "node:crypto";
import type { SignedEntity, TrustMaterial, Signer as VerifiedSigner } from "@sigstore/verify";
import type { PublicKey } from "./public-keys.ts";
import type { Signature } from "./read-bundle.ts";
import { type Library, Unfit } from "./unfit.ts";

export type Signer =
  | { kind: "certificate"; subject: string; issuer: string; run: string | undefined }
  | { kind: "key"; file: string };

export type Trust = { material: TrustMaterial; keys: readonly PublicKey[]; hasLog: boolean };

/** Throws, for a signature that is not valid, errors of several classes. */
export function verify({ bundle, content }: Signature, trust: Trust, library: Library): Signer {
  const entity = library.toSignedEntity(bundle, content);
  const material = bundle.verificationMaterial.content;
  if (material.$case === "publicKey") return verifyByKey(entity, trust, library);
  const certificate =
    material.$case === "certificate"
      ? material.certificate
      : material.x509CertificateChain.certificates[0];
  const leaf = readCertificate(certificate?.rawBytes);
  const logs = trust.hasLog ? 1 : 0;
  const verifier = new library.Verifier(trust.material, {
    tlogThreshold: logs,
    ctlogThreshold: logs,
    timestampThreshold: 1,
  });
  const { identity = {} } = verifier.verify(entity);
  return { kind: "certificate", ...nameOf(leaf, identity), run: runOf(identity) };
}

function readCertificate(rawBytes: Buffer | undefined): X509Certificate {
  try {
    return new X509Certificate(rawBytes ?? "");
  } catch {
    throw new Unfit("has a certificate that cannot be read");
  }
}

type Identity = NonNullable<VerifiedSigner["identity"]>;

const codeSigning = "1.3.6.1.5.5.7.3.3";

/** The library gives the first of several names, and doesn't ask what the certificate is for. */
function nameOf(leaf: X509Certificate, identity: Identity): { subject: string; issuer: string } {
  const { subjectAlternativeName: subject, extensions } = identity;
  if (leaf.keyUsage?.includes(codeSigning) !== true) {
    throw new Unfit("its certificate is not for signing code");
  }
  if (subject === undefined || !isOnlyName(leaf, subject)) {
    throw new Unfit("its certificate does not have exactly one address or workflow as its name");
  }
  if (extensions?.issuer === undefined) {
    throw new Unfit("its certificate names no issuer of the identity");
  }
  return { subject, issuer: extensions.issuer };
}

/** The extension "Run Invocation URI" of Fulcio (https://github.com/sigstore/fulcio, "Fulcio OID information"). */
const runInvocation = "1.3.6.1.4.1.57264.1.21";

/** The address of the run that signed: text after the two to four bytes that say so, and how long it is. */
function runOf({ oids = [] }: Identity): string | undefined {
  const found = oids.find(({ oid }) => oid?.id.join(".") === runInvocation);
  return /^\f.{1,3}(https:.*)$/s.exec(found?.value.toString("utf8") ?? "")?.[1];
}

/** Node quotes names that have special characters. */
function isOnlyName({ subjectAltName }: X509Certificate, name: string): boolean {
  const forms = [name, JSON.stringify(name)].flatMap((text) => [`URI:${text}`, `email:${text}`]);
  return subjectAltName !== undefined && forms.includes(subjectAltName);
}

/** The hint in a bundle is anybody's, so every key is tried. */
function verifyByKey(entity: SignedEntity, trust: Trust, library: Library): Signer {
  const bare = trust.hasLog ? entity : { ...entity, tlogEntries: [], timestamps: [] };
  let latest: unknown = new Unfit("is signed by a key, and ci.sigstore.public_keys has none");
  for (const { file, key } of trust.keys) {
    const publicKey = () => ({ publicKey: key, validFor: () => true });
    const verifier = new library.Verifier(
      { ...trust.material, publicKey },
      { tlogThreshold: trust.hasLog ? 1 : 0, ctlogThreshold: 0, timestampThreshold: 0 },
    );
    try {
      verifier.verify(bare);
      return { kind: "key", file };
    } catch (error) {
      latest = error;
    }
  }
  throw latest;
}
