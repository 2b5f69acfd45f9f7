/**
 * Layers of cosign's own tags as bundles, so that one library verifies both
 * (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md).
 */
import { createHash, X509Certificate } from "node:crypto";
import { z } from "zod";
import type { Attachment } from "#ci/finding.ts";
import { parseJson, parseShape } from "./parse-json.ts";
import { Unfit } from "./unfit.ts";

export type CosignLayer = Extract<Attachment, { kind: "cosign" }>;

/** A signature's payload, and a signed statement. Other layers, such as a list of packages, are not signed. */
export const simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json";
const envelope = "application/vnd.dsse.envelope.v1+json";

export function isKnownLayer({ mediaType }: CosignLayer): boolean {
  return mediaType === simpleSigning || mediaType === envelope;
}

/** The same as a bundle's JSON, of the version whose log entries have a promise instead of a proof. */
export function toBundleJson(layer: CosignLayer): unknown {
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
