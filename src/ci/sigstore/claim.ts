/** What a bundle says, and of which image. Nothing of this is verified. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Subject } from "#ci/finding.ts";
import { parseShape } from "./parse-json.ts";
import type { Signed } from "./read-bundle.ts";
import { Unfit } from "./unfit.ts";

/** A signature says no more than that it is one. */
export type Claim = { isAboutImage: boolean } & (
  | { form: "signature" }
  | { form: "statement"; predicateType: string; predicate: unknown }
);

/** Throws `Unfit` for content that says nothing about any image. */
export function readClaim(signed: Signed, subject: Subject): Claim {
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
