/** Looks at what is attached to an image: what each says, and who signed it. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Attachment, Subject } from "#ci/finding.ts";
import { type Claim, readClaim } from "./claim.ts";
import type { Library } from "./library.ts";
import { isKnown, readBundle } from "./read-bundle.ts";
import { explain, Unfit } from "./unfit.ts";
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

/**
 * Inspects attachments one by one, with pauses in which the process answers others: the library computes without a
 * break. Stops after 50 of them and after 3 s.
 */
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
