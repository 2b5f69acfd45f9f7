/** Signatures and provenance of images, by Sigstore: verified here, against keys and certificates that we trust. */
import type { Attachment, Finding, Subject } from "#ci/finding.ts";
import { cleanWords } from "#kernel/log-text.ts";
import type { SigstoreConfig } from "./config.ts";
import { type Inspections, inspectAll } from "./inspect.ts";
import { judgeProvenance, judgeSignature } from "./judge.ts";
import { type Library, loadLibrary } from "./library.ts";
import { readPublicKeys } from "./public-keys.ts";
import type { PublishedRootParts } from "./published-root.ts";
import { isKnown } from "./read-bundle.ts";
import { createTrustedRoot } from "./trusted-root.ts";
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
    (judge: typeof judgeSignature): CheckAttachments =>
    async (subject, attachments) => {
      const found = await inspect(subject, attachments);
      if ("unavailable" in found) return { result: "unavailable", detail: found.unavailable };
      return judge(found, settings);
    };
  return { checkSignature: checkBy(judgeSignature), checkProvenance: checkBy(judgeProvenance) };
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

/** One inspection for both kinds, as long as somebody has the attachments: they do not change. */
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
