/** Signatures and provenance of images, by Sigstore: verified here, against keys and certificates that we trust. */
import { createHash } from "node:crypto";
import { globSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TrustedRoot } from "@sigstore/protobuf-specs";
import { z } from "zod";
import type { Attachment, Finding, Subject } from "#ci/finding.ts";
import { onceAtATime, unlessLate } from "#kernel/async.ts";
import { parseJsonText } from "#kernel/body.ts";
import { readIfThere, writeFileAtomically } from "#kernel/files.ts";
import { cleanWords, type Log } from "#kernel/log.ts";
import type { SigstoreConfig } from "./config.ts";
import { gradeProvenance, gradeSignature } from "./grade.ts";
import { type Inspections, inspectAll } from "./inspect.ts";
import { readPublicKeys, readText } from "./public-keys.ts";
import { isKnown } from "./read-bundle.ts";
import { explain, type Library, loadLibrary } from "./unfit.ts";
import type { Trust } from "./verify.ts";

// The trusted root that an instance of Sigstore publishes by TUF, refreshed daily, with a copy for when it is away.

/** `cacheDir` is a folder of our own, created when needed. `log` is told when the mirror is away. */
type PublishedRootParts = { cacheDir: string; log?: Pick<Log, "warn">; nowMs?: () => number };

/**
 * A copy is used for `freshMs` without asking the mirror, and for `staleMs` while the mirror is away: after that,
 * somebody may be hiding news from us, such as of a stolen key. `againMs`: the pause after a failed attempt.
 */
const freshMs = 24 * 60 * 60_000;
const staleMs = 7 * freshMs;
const againMs = 5 * 60_000;
const limitMs = 7_000;

type Copy = { checkedAtMs: number; root: unknown };

function createPublishedRoot(
  settings: Pick<SigstoreConfig, "tuf_url" | "tuf_root">,
  { cacheDir, log, nowMs = Date.now }: PublishedRootParts,
): () => Promise<TrustedRoot> {
  const source = sourceOf(settings, cacheDir);
  let copy: Copy | undefined;
  let tryAfterMs = Number.NEGATIVE_INFINITY;
  const refresh = onceAtATime(() => fetchRoot(source, nowMs));
  return async () => {
    copy ??= readCopy(source.file);
    if (!isYounger(copy, freshMs, nowMs()) && nowMs() >= tryAfterMs) {
      try {
        copy = await refresh();
      } catch (error) {
        if (!isYounger(copy, staleMs, nowMs())) throw error;
        tryAfterMs = nowMs() + againMs;
        log?.warn(
          { err: error, source: source.url },
          "cannot refresh the trusted root of sigstore",
        );
      }
    }
    const { TrustedRoot } = await loadLibrary();
    return TrustedRoot.fromJSON(copy?.root);
  };
}

/** A copy of the future was written before the clock was corrected: how old it is, is unknown. */
function isYounger(copy: Copy | undefined, ageMs: number, nowMs: number): boolean {
  if (copy === undefined) return false;
  return copy.checkedAtMs <= nowMs && nowMs < copy.checkedAtMs + ageMs;
}

type Source = { url: string; rootPath: string; cachePath: string; file: string };

/** Each root has a folder of its own: TUF would go on trusting the first root it saw in one. */
function sourceOf({ tuf_url: url, tuf_root: rootPath }: RootSettings, cacheDir: string): Source {
  const root = rootPath === "" ? "" : readText(rootPath, "ci.sigstore.tuf_root");
  const name = createHash("sha256").update(`${url}\n${root}`).digest("hex").slice(0, 16);
  const cachePath = join(cacheDir, name);
  return { url, rootPath, cachePath, file: join(cachePath, "trusted_root.json") };
}

type RootSettings = Pick<SigstoreConfig, "tuf_url" | "tuf_root">;

async function fetchRoot(source: Source, nowMs: () => number): Promise<Copy> {
  const { url, rootPath, cachePath, file } = source;
  mkdirSync(cachePath, { recursive: true });
  const { getTrustedRoot } = await import("@sigstore/tuf");
  const { TrustedRoot } = await loadLibrary();
  const checkedAtMs = nowMs();
  const options = { cachePath, timeout: 3_000, retry: { retries: 1, minTimeout: 200 } };
  const where = url === "" ? {} : { mirrorURL: url, rootPath };
  const late = new Error(`it took longer than ${limitMs / 1000} s`);
  removeDamagedRoots(cachePath);
  const root = await unlessLate(() => getTrustedRoot({ ...options, ...where }), { limitMs, late });
  const copy = { checkedAtMs, root: TrustedRoot.toJSON(root) };
  writeFileAtomically(file, JSON.stringify(copy));
  return copy;
}

/** The library writes its root in place, and never gets over one that is cut short; without one it begins again. */
function removeDamagedRoots(cachePath: string): void {
  for (const file of globSync("*/root.json", { cwd: cachePath })) {
    const root = join(cachePath, file);
    if (parseJsonText(readIfThere(root) ?? "") === undefined) rmSync(root, { force: true });
  }
}

const StoredCopy = z.object({ checkedAtMs: z.number(), root: z.looseObject({}) });

/** A damaged copy is none. */
function readCopy(file: string): Copy | undefined {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  try {
    return StoredCopy.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `missing`: none could be; `unverifiable`: some could and are not; `unavailable`: trust is unknown. Never rejects. */
type CheckAttachments = (subject: Subject, attachments: readonly Attachment[]) => Promise<Finding>;

type Sigstore = { checkSignature: CheckAttachments; checkProvenance: CheckAttachments };

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

/** Reads a file at once, and throws an error that names a bad one; what is published is loaded when first needed. */
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
