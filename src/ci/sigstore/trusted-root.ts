/** Whose certificates, logs and timestamps are trusted: a file's, or what Sigstore publishes by TUF. */
import type { TrustedRoot } from "@sigstore/protobuf-specs";
import { z } from "zod";
import type { SigstoreConfig } from "./config.ts";
import { loadLibrary } from "./library.ts";
import { readText } from "./public-keys.ts";
import { createPublishedRoot, type PublishedRootParts } from "./published-root.ts";

/** Throws an error when the trusted root cannot be had now. */
export type LoadTrustedRoot = () => Promise<TrustedRoot>;

/**
 * Reads a file at once, and throws an error that names it when it is no trusted root; what is published is loaded when
 * it is first needed.
 */
export function createTrustedRoot(
  settings: SigstoreConfig,
  parts: PublishedRootParts,
): LoadTrustedRoot {
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

/** One root, or several, one a line, as `gh attestation trusted-root` prints them: each of them is trusted. */
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
