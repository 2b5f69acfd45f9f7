/** Signatures and provenance of images, by Sigstore: verified here, against keys and certificates that we trust. */

import type { TrustedRoot } from "@sigstore/protobuf-specs";
import { z } from "zod";
import type { Attachment, Finding, Subject } from "#ci/finding.ts";
import { cleanWords } from "#kernel/log-text.ts";
import type { SigstoreConfig } from "./config.ts";
import { gradeProvenance, gradeSignature } from "./grade.ts";
import { type Inspections, inspectAll } from "./inspect.ts";
import { type Library, loadLibrary } from "./library.ts";
import { readPublicKeys, readText } from "./public-keys.ts";
import { createPublishedRoot, type PublishedRootParts } from "./published-root.ts";
import { isKnown } from "./read-bundle.ts";
import { explain } from "./unfit.ts";
import type { Trust } from "./verify.ts";

/**
 * Answers `passed` if one attachment is what is asked for, `missing` if none could be, `unverifiable` with reasons if
 * some could but are not, and `unavailable` if it is not known whom to trust. Never rejects.
 */
type CheckAttachments = (subject: Subject, attachments: readonly Attachment[]) => Promise<Finding>;

export type Sigstore = { checkSignature: CheckAttachments; checkProvenance: CheckAttachments };

type Inspect = (
  subject: Subject,
  attachments: readonly Attachment[],
) => Promise<Inspections | Unavailable>;
type Unavailable = { unavailable: string };

/** Reads the files that the settings name; throws an error that names the one which cannot be used. */
export function createSigstore(settings: SigstoreConfig, parts: PublishedRootParts): Sigstore {
  const inspect = sharing(createInspect(settings, parts));
  const checkBy =
    (grade: typeof gradeSignature): CheckAttachments =>
    async (subject, attachments) => {
      const found = await inspect(subject, attachments);
      if ("unavailable" in found) return { result: "unavailable", detail: found.unavailable };
      return grade(found, settings);
    };
  return { checkSignature: checkBy(gradeSignature), checkProvenance: checkBy(gradeProvenance) };
}

function createInspect(settings: SigstoreConfig, parts: PublishedRootParts): Inspect {
  const keys = readPublicKeys(settings.public_keys);
  const loadRoot = createTrustedRoot(settings, parts);
  const loadTrust = async (library: Library): Promise<Trust> => ({
    material: library.toTrustMaterial(await loadRoot()),
    keys,
    hasLog: settings.transparency_log,
  });
  return async (subject, attachments) => {
    if (!attachments.some(isKnown)) return { list: [], omitted: 0 };
    const library = await loadLibrary();
    try {
      const trust = await loadTrust(library);
      return await inspectAll(subject, attachments, { trust, library });
    } catch (error) {
      parts.log?.warn({ err: error }, "cannot load the trusted root of sigstore");
      const detail = `the trusted root of Sigstore cannot be loaded: ${explain(error)}`;
      return { unavailable: cleanWords(detail, 500) };
    }
  };
}

/** Shares one inspection between both kinds, as long as somebody has the attachments: they do not change. */
function sharing(inspect: Inspect): Inspect {
  const known = new WeakMap<
    readonly Attachment[],
    { digest: string; found: ReturnType<Inspect> }
  >();
  return async (subject, attachments) => {
    const { digest } = subject;
    const earlier = known.get(attachments);
    if (earlier?.digest === digest) return earlier.found;
    const found = inspect(subject, attachments);
    known.set(attachments, { digest, found });
    // Whom to trust may be known the next time.
    if ("unavailable" in (await found)) known.delete(attachments);
    return found;
  };
}

/** Throws an error when the trusted root cannot be had now. */
type LoadTrustedRoot = () => Promise<TrustedRoot>;

/**
 * Reads a file at once, and throws an error that names it when it is no trusted root; what is published is loaded when
 * it is first needed.
 */
function createTrustedRoot(settings: SigstoreConfig, parts: PublishedRootParts): LoadTrustedRoot {
  // Keys without a log need nobody else's word.
  const isNeeded = settings.transparency_log || Object.keys(settings.identities).length > 0;
  if (!isNeeded) return async () => nobody;
  if (settings.trusted_root === "") return createPublishedRoot(settings, parts);
  const json = readRootFile(settings.trusted_root);
  return async () => {
    const { TrustedRoot } = await loadLibrary();
    return TrustedRoot.fromJSON(json);
  };
}

const nobody: TrustedRoot = {
  mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
  tlogs: [],
  certificateAuthorities: [],
  ctlogs: [],
  timestampAuthorities: [],
};

const List = z.array(z.looseObject({})).default([]);

const RootFile = z.looseObject({
  mediaType: z.string().startsWith("application/vnd.dev.sigstore.trustedroot"),
  tlogs: List,
  certificateAuthorities: List,
  ctlogs: List,
  timestampAuthorities: List,
});
type RootFile = z.infer<typeof RootFile>;

/** Reads one root, or several, one a line, as `gh attestation trusted-root` prints them: each of them is trusted. */
function readRootFile(file: string): RootFile {
  const text = readText(file, "ci.sigstore.trusted_root");
  try {
    return parseRoots(text).reduce(joinRoots);
  } catch (cause) {
    throw new Error(`ci.sigstore.trusted_root: ${file} is not a trusted root of Sigstore as JSON`, {
      cause,
    });
  }
}

function parseRoots(text: string): RootFile[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const isOnePerLine = lines.every((line) => line.startsWith("{") && line.trimEnd().endsWith("}"));
  return (isOnePerLine ? lines : [text]).map((one) => RootFile.parse(JSON.parse(one)));
}

function joinRoots(one: RootFile, other: RootFile): RootFile {
  return {
    ...one,
    tlogs: [...one.tlogs, ...other.tlogs],
    certificateAuthorities: [...one.certificateAuthorities, ...other.certificateAuthorities],
    ctlogs: [...one.ctlogs, ...other.ctlogs],
    timestampAuthorities: [...one.timestampAuthorities, ...other.timestampAuthorities],
  };
}
