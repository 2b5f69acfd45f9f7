/** Attachments as bundles of a bounded size. */
import type { Bundle } from "@sigstore/bundle";
import type { Attachment, Subject } from "#ci/finding.ts";
import { isKnownLayer, simpleSigning, toBundleJson } from "./cosign-layer.ts";
import type { Library } from "./library.ts";
import { parseJson } from "./parse-json.ts";
import { Unfit } from "./unfit.ts";

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

/**
 * The parts whose verification takes long: the library compares all entries and timestamps with each other, and
 * tries every signature of a log's checkpoint. Real bundles have one or two of each.
 */
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
