/** Looks at what is attached to an image: what each says, and who signed it. */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { Attachment, Subject } from "#ci/finding.ts";
import { isKnown, readBundle, type Signature } from "./read-bundle.ts";
import { explain, type Library, parseShape, Unfit } from "./unfit.ts";
import { type Signer, type Trust, verify } from "./verify.ts";

/** `claim` is undefined when the attachment cannot be read: it could have been anything. */
export type Inspection = { name: string; claim: Claim | undefined } & (
  | { signer: Signer }
  | { reason: string }
);

export type Inspections = { list: Inspection[]; omitted: number };

/** Whoever may push can attach as much as they like. With the 7 s for the trusted root, a check takes 10 s. */
const mostAttachments = 50;
const limitMs = 3_000;

export type InspectionParts = { trust: Trust; library: Library };

/** Inspects one by one, with pauses: the library computes without a break. Stops after 50 attachments and after 3 s. */
export async function inspectAll(
  subject: Subject,
  attachments: readonly Attachment[],
  parts: InspectionParts,
): Promise<Inspections> {
  const untilMs = performance.now() + limitMs;
  const known = attachments.filter(isKnown);
  const list: Inspection[] = [];
  for (const attachment of known.slice(0, mostAttachments)) {
    if (performance.now() >= untilMs) break;
    list.push(inspect(attachment, subject, parts));
    await nextTurn();
  }
  return { list, omitted: known.length - list.length };
}

function inspect(attachment: Attachment, subject: Subject, parts: InspectionParts): Inspection {
  const { name } = attachment;
  let claim: Claim | undefined;
  try {
    const signed = readBundle(attachment, subject, parts.library);
    claim = readClaim(signed, subject);
    if (!claim.isAboutImage) throw new Unfit("is about another image");
    return { name, claim, signer: verify(signed, parts.trust, parts.library) };
  } catch (error) {
    return { name, claim, reason: explain(error) };
  }
}

/** A signature says no more than that it is one. */
type Claim = { isAboutImage: boolean } & (
  | { form: "signature" }
  | { form: "statement"; predicateType: string; predicate: unknown }
);

/** Throws `Unfit` for content that says nothing about any image. */
function readClaim(signed: Signature, subject: Subject): Claim {
  const { content } = signed.bundle;
  if (content.$case === "dsseEnvelope") return readStatement(content.dsseEnvelope, subject);
  if (signed.form === "payload") return readPayload(signed.content, subject);
  const { algorithm, digest } = content.messageSignature.messageDigest;
  const sameBytes = createHash("sha256").update(subject.manifest).digest();
  const isAboutImage =
    algorithm === sha256 &&
    digest.equals(sameBytes) &&
    subject.digest === `sha256:${sameBytes.toString("hex")}`;
  return { form: "signature", isAboutImage };
}

/** `HashAlgorithm.SHA2_256`, without loading the library. */
const sha256 = 1;

const Payload = z.object({
  critical: z.object({
    type: z.literal("cosign container image signature"),
    image: z.object({ "docker-manifest-digest": z.string() }),
  }),
});

function readPayload(payload: Buffer, subject: Subject): Claim {
  const { critical } = parseShape(payload, { shape: Payload, what: "a signature of an image" });
  const isAboutImage = critical.image["docker-manifest-digest"] === subject.digest;
  return { form: "signature", isAboutImage };
}

/** https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md */
const Statement = z.object({
  _type: z.enum(["https://in-toto.io/Statement/v0.1", "https://in-toto.io/Statement/v1"]),
  // There may be very many, so that only what is looked for is looked at.
  subject: z.array(z.unknown()),
  predicateType: z.string().min(1),
  predicate: z.unknown().optional(),
});

function readStatement(
  { payload, payloadType }: { payload: Buffer; payloadType: string },
  subject: Subject,
): Claim {
  if (payloadType !== "application/vnd.in-toto+json") {
    throw new Unfit(`signs content of the type ${payloadType.slice(0, 60)}`);
  }
  const statement = parseShape(payload, { shape: Statement, what: "a statement" });
  const { predicateType, predicate } = statement;
  const isAboutImage = statement.subject.some((named) => digestOf(named) === subject.digest);
  return { form: "statement", isAboutImage, predicateType, predicate };
}

function digestOf(named: unknown): string | undefined {
  const { digest } = (named ?? {}) as { digest?: { sha256?: unknown } | null };
  return typeof digest?.sha256 === "string" ? `sha256:${digest.sha256}` : undefined;
}
