/** Attachments as bundles of a bounded size. */
import { createHash, X509Certificate } from "node:crypto";
import type { Bundle } from "@sigstore/bundle";
import { z } from "zod";
import type { Attachment, Subject } from "#ci/finding.ts";
import { type Library, parseJson, parseShape, Unfit } from "./unfit.ts";

/** Layers as bundles, for one library (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md). */
type CosignLayer = Extract<Attachment, { kind: "cosign" }>;

/** A signature's payload, and a signed statement. Other layers, such as a list of packages, are not signed. */
const simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json";
const envelope = "application/vnd.dsse.envelope.v1+json";

function isKnownLayer({ mediaType }: CosignLayer): boolean {
  return mediaType === simpleSigning || mediaType === envelope;
}

/** The same as a bundle's JSON, of the version whose log entries have a promise instead of a proof. */
function toBundleJson(layer: CosignLayer): unknown {
  const find = finderOf(layer);
  return {
    mediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
    verificationMaterial: {
      ...keyOf(find("dev.sigstore.cosign/certificate")),
      tlogEntries: entriesOf(find("dev.sigstore.cosign/bundle")),
      timestampVerificationData: timestampsOf(find("dev.sigstore.cosign/rfc3161timestamp")),
    },
    ...contentOf(layer, find("dev.cosignproject.cosign/signature")),
  };
}

/** An annotation; empty as none: a statement's layer has an empty signature. */
function finderOf({ annotations }: CosignLayer): (name: string) => string | undefined {
  return (name) => {
    const value: unknown = annotations[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
}

function contentOf({ mediaType, body }: CosignLayer, signature: string | undefined): object {
  if (mediaType === envelope) return { dsseEnvelope: parseJson(body) };
  if (signature === undefined) throw new Unfit("has no signature among its annotations");
  const digest = createHash("sha256").update(body).digest("base64");
  return { messageSignature: { messageDigest: { algorithm: "SHA2_256", digest }, signature } };
}

/** The chain that may be beside a certificate is nothing to trust: that is the trusted root's. */
function keyOf(certificate: string | undefined): object {
  if (certificate === undefined) return { publicKey: { hint: "" } };
  try {
    const rawBytes = new X509Certificate(certificate).raw.toString("base64");
    return { certificate: { rawBytes } };
  } catch {
    throw new Unfit("has a certificate that cannot be read");
  }
}

const LogEntry = z.object({
  SignedEntryTimestamp: z.string(),
  Payload: z.object({
    body: z.string(),
    integratedTime: z.int().positive(),
    logIndex: z.int().nonnegative(),
    logID: z.string().regex(/^[0-9a-f]{64}$/i),
  }),
});
const EntryKind = z.object({ kind: z.string(), apiVersion: z.string() });

function entriesOf(bundle: string | undefined): object[] {
  if (bundle === undefined) return [];
  const what = "an entry of a log";
  const entry = parseShape(Buffer.from(bundle), { shape: LogEntry, what });
  const { body, integratedTime, logIndex, logID } = entry.Payload;
  const { kind, apiVersion } = parseShape(Buffer.from(body, "base64"), { shape: EntryKind, what });
  return [
    {
      logIndex: `${logIndex}`,
      logId: { keyId: Buffer.from(logID, "hex").toString("base64") },
      kindVersion: { kind, version: apiVersion },
      integratedTime: `${integratedTime}`,
      inclusionPromise: { signedEntryTimestamp: entry.SignedEntryTimestamp },
      canonicalizedBody: body,
    },
  ];
}

const Timestamp = z.object({ SignedRFC3161Timestamp: z.string() });

function timestampsOf(text: string | undefined): object {
  if (text === undefined) return { rfc3161Timestamps: [] };
  const timestamp = parseShape(Buffer.from(text), { shape: Timestamp, what: "a timestamp" });
  return { rfc3161Timestamps: [{ signedTimestamp: timestamp.SignedRFC3161Timestamp }] };
}

/** `content` is what a signature without a statement is about: cosign's payload, or the image's manifest. */
export type Signature = { bundle: Bundle; content: Buffer; form: "payload" | "manifest" };

/** True if an attachment is of a kind that may be signed. */
export function isKnown(attachment: Attachment): boolean {
  return attachment.kind === "bundle" || isKnownLayer(attachment);
}

/** Throws, mostly `Unfit`, when the attachment is not a bundle. */
export function readBundle(attachment: Attachment, subject: Subject, library: Library): Signature {
  const isLayer = attachment.kind === "cosign";
  const json = isLayer ? toBundleJson(attachment) : parseJson(attachment.body);
  const bundle = library.bundleFromJSON(json);
  checkSizes(bundle);
  const isPayload = isLayer && attachment.mediaType === simpleSigning;
  return isPayload
    ? { bundle, content: attachment.body, form: "payload" }
    : { bundle, content: subject.manifest, form: "manifest" };
}

/** Parts whose verification takes long: entries and timestamps are compared pairwise. Real bundles have one or two. */
const mostEntries = 8;
const mostHashes = 64;
const mostBytes = 32 * 1024;

function checkSizes({ verificationMaterial }: Bundle): void {
  const { content, tlogEntries, timestampVerificationData } = verificationMaterial;
  const timestamps = timestampVerificationData?.rfc3161Timestamps ?? [];
  if (tlogEntries.length > mostEntries) throw new Unfit("has too many entries of a log");
  if (timestamps.length > mostEntries) throw new Unfit("has too many timestamps");
  const checkpoints = tlogEntries.map(({ inclusionProof: proof }) => proof?.checkpoint?.envelope);
  const hashes = tlogEntries.map(({ inclusionProof: proof }) => proof?.hashes.length ?? 0);
  const certificates = content.$case === "publicKey" ? [] : certificatesOf(content);
  const parts = [
    ...checkpoints.map((text) => text?.length ?? 0),
    ...timestamps.map(({ signedTimestamp }) => signedTimestamp.length),
    ...certificates.map(({ rawBytes }) => rawBytes.length),
  ];
  if (Math.max(0, ...hashes) > mostHashes) throw new Unfit("has too long a proof");
  if (Math.max(0, ...parts) > mostBytes) throw new Unfit("has too long a certificate or timestamp");
}

type Certificates = Exclude<Bundle["verificationMaterial"]["content"], { $case: "publicKey" }>;

/** Returns the first certificate: the others have to be those of the trusted root. */
function certificatesOf(content: Certificates): { rawBytes: Buffer }[] {
  return content.$case === "certificate"
    ? [content.certificate]
    : content.x509CertificateChain.certificates.slice(0, 1);
}
