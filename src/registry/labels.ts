/** Reads the labels of an image (OCI image specification, "Image Configuration"). */
import { z } from "zod";
import { listOf, Texts } from "#kernel/setting.ts";
import type { RegistryClient } from "./client.ts";
import {
  type ContentSource,
  Digest,
  parseObject,
  readBlob,
  readManifest,
  unlessTooLarge,
} from "./content.ts";
import { type ImageName, parseImageName, refuse } from "./image-name.ts";
import { type Patience, withRetries } from "./retries.ts";

const Manifest = z.object({ config: z.object({ digest: Digest }) });

const mostListed = 100_000;

const Index = z.object({
  manifests: listOf(
    z.object({
      digest: Digest,
      annotations: Texts,
      platform: z.object({ os: z.string() }).nullish(),
    }),
    mostListed,
  ),
});

/** Labels are `null` where there are none. Other things than texts are no labels. */
const Configuration = z.object({
  config: z
    .object({ Labels: z.record(z.string(), z.unknown()).nullish() })
    .nullish()
    .catch(undefined),
});

/** Platforms of one image: each costs two requests. */
const mostPlatforms = 30;

export type ReadLabels = (image: string, signal?: AbortSignal) => Promise<Map<string, string>>;

/**
 * The labels of an image that is pinned to its digest. Of an image with several platforms those that all of them have
 * with the same value: what is deployed may be any of them. Throws a `ProblemError`; `image_unreadable` and
 * `image_not_found` are due to the image itself.
 */
export function createReadLabels(client: RegistryClient, patience: Patience = {}): ReadLabels {
  return (image, signal) => {
    const name = parseImageName(image);
    const wanted = { exchange: client(name, signal), image: name };
    const describe = (why: string) => `cannot read the labels of ${name.tagged} (${why})`;
    const read = () => unlessTooLarge(readLabels(wanted, name.digest ?? ""), describe);
    return withRetries(read, describe, { ...patience, signal });
  };
}

async function readLabels(wanted: ContentSource, digest: string): Promise<Map<string, string>> {
  const manifest = await readManifest(wanted, digest);
  const platforms = platformsOf(manifest, wanted.image);
  if (platforms === undefined) return labelsOf(wanted, manifest);
  const all: Map<string, string>[] = [];
  for (const platform of platforms) {
    all.push(await labelsOf(wanted, await readManifest(wanted, platform)));
  }
  return commonOf(all);
}

/** The digests of the images in an index; undefined for the manifest of one image. */
function platformsOf(manifest: Buffer, image: ImageName): string[] | undefined {
  const { data: index } = Index.safeParse(parseObject(manifest));
  if (index === undefined) return undefined;
  const images = index.manifests.filter((one) => !isAttestation(one));
  if (images.length <= mostPlatforms) return images.map(({ digest }) => digest);
  const detail = `${image.tagged} has ${images.length} platforms; at most ${mostPlatforms} are read`;
  throw refuse("image_unreadable", detail);
}

/** BuildKit stores what it knows of a build as a platform of its own, which nothing runs on. */
function isAttestation({ annotations, platform }: z.infer<typeof Index>["manifests"][number]) {
  const isMarked = annotations["vnd.docker.reference.type"] === "attestation-manifest";
  return isMarked && (platform?.os ?? "unknown") === "unknown";
}

async function labelsOf(wanted: ContentSource, manifest: Buffer): Promise<Map<string, string>> {
  const { data } = Manifest.safeParse(parseObject(manifest));
  if (data === undefined) return new Map();
  const { data: configuration } = Configuration.safeParse(
    parseObject(await readBlob(wanted, data.config.digest)),
  );
  const labels = Object.entries(configuration?.config?.Labels ?? {});
  return new Map(labels.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function commonOf([first = new Map(), ...others]: Map<string, string>[]): Map<string, string> {
  const isCommon = ([name, value]: [string, string]) =>
    others.every((labels) => labels.get(name) === value);
  return new Map([...first].filter(isCommon));
}
