/** Reads what a registry has about an image, by digest: nothing is believed that does not match its digest. */
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import type { Exchange } from "./client.ts";
import { type ImageName, RegistryTrouble, refuse, TooLarge } from "./image-name.ts";
import { digestOf, manifestTypes, requireSuccess } from "./manifest.ts";

export const Digest = z.string().regex(/^sha256:[a-f0-9]{64}$/);

export type ContentSource = { exchange: Exchange; image: ImageName };

export function readManifest(wanted: ContentSource, digest: string): Promise<Buffer> {
  return readExactly(wanted, digest, { path: `manifests/${digest}`, accept: manifestTypes });
}

/** The exact bytes of a blob: an image's configuration, a signature. */
export function readBlob(wanted: ContentSource, digest: string): Promise<Buffer> {
  return readExactly(wanted, digest, { path: `blobs/${digest}` });
}

async function readExactly(
  { exchange, image }: ContentSource,
  digest: string,
  asked: { path: string; accept?: string },
): Promise<Buffer> {
  const answer = await exchange({ method: "GET", ...asked });
  requireSuccess(answer, image);
  if (digestOf(answer.body) === digest) return answer.body;
  throw new RegistryTrouble(`the content does not match ${digest}`);
}

/** More than any image has. */
const mostParts = 100_000;

/** A JSON object; undefined for anything else. */
export function parseObject(bytes: Buffer): unknown {
  const value = parseJson(bytes, mostParts);
  return typeof value === "object" && value !== null ? value : undefined;
}

/** Throws `image_unreadable` for content that is too large: it is a matter of the image and not of its registry. */
export async function unlessTooLarge<T>(
  reading: Promise<T>,
  describe: (why: string) => string,
): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof TooLarge) throw refuse("image_unreadable", describe(error.message));
    throw error;
  }
}
