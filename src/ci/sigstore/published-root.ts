/** The trusted root that an instance of Sigstore publishes by TUF, refreshed daily, with a copy for when it is away. */
import { createHash } from "node:crypto";
import { globSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TrustedRoot } from "@sigstore/protobuf-specs";
import { z } from "zod";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { parseJsonText } from "#kernel/body.ts";
import type { Log } from "#kernel/log.ts";
import { onceAtATime } from "#kernel/once-at-a-time.ts";
import { readIfThere } from "#kernel/read-if-there.ts";
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { SigstoreConfig } from "./config.ts";
import { loadLibrary } from "./library.ts";
import { readText } from "./public-keys.ts";

/** `cacheDir` is a folder of our own, created when needed. `log` is told when the mirror is away. */
export type PublishedRootParts = {
  cacheDir: string;
  log?: Pick<Log, "warn">;
  nowMs?: () => number;
};

/**
 * A copy is used for `freshMs` without asking the mirror, and for `staleMs` while the mirror is away: after that,
 * somebody may be hiding news from us, such as of a stolen key. `againMs`: the pause after a failed attempt.
 */
const freshMs = 24 * 60 * 60_000;
const staleMs = 7 * freshMs;
const againMs = 5 * 60_000;
const limitMs = 7_000;

type Copy = { checkedAtMs: number; root: unknown };

export function createPublishedRoot(
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

/**
 * The library writes its root in place, and never gets over one that is cut short. Without one it begins again with that
 * of the settings.
 */
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
