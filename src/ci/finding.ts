/** The result of one kind of check of an image. */
import type { CiResult } from "./contract.ts";

export type Finding = {
  result: CiResult;
  /** Explanation in words; text of others in it is cleaned and bounded. */
  detail: string;
  url?: string;
};

/**
 * A file attached to an image in its registry. `name` is for people: a tag, or the first digits of a digest. A
 * `bundle` is a Sigstore bundle as JSON. A `cosign` one is a layer of cosign's own tags (`sha256-<hex>.sig`,
 * `.att`): the signed payload or DSSE envelope, whose signature and certificate are in the annotations.
 */
export type Attachment = { name: string; body: Buffer } & (
  | { kind: "bundle" }
  | { kind: "cosign"; mediaType: string; annotations: Readonly<Record<string, string>> }
);

/** An image's manifest: its exact bytes, and their digest (`sha256:…`). */
export type Subject = { digest: string; manifest: Buffer };

/** Whoever has the evidence cannot be asked now. The message is for people and has no secret. */
export class CiTrouble extends Error {
  /** True if it may be over in a moment. */
  readonly isBrief: boolean;

  constructor(message: string, { isBrief = false } = {}) {
    super(message);
    this.name = "CiTrouble";
    this.isBrief = isBrief;
  }
}
