/**
 * Finds the signatures that are attached to an image: by the referrers of its digest (OCI distribution specification,
 * "Listing Referrers"), or by the tags that came before them. Whoever may push attaches what they like, and as much.
 */
import { z } from "zod";
import type { RegistryClient } from "./client.ts";
import {
  Digest,
  parseObject,
  readBlob,
  readManifest,
  unlessTooLarge,
  type Wanted,
} from "./content.ts";
import { parseImageName } from "./image-name.ts";
import { judge, manifestTypes } from "./manifest.ts";
import { createReading, type Reading } from "./reading.ts";
import { findReferrers } from "./referrers.ts";
import { TooLarge } from "./refusal.ts";
import { type Patience, withRetries } from "./retries.ts";

/** `name`: a tag, or the beginning of a digest. `cosign`: a layer of cosign's own tags, with what it is annotated by. */
type Attachment = { name: string; body: Buffer } & (
  | { kind: "bundle" }
  | { kind: "cosign"; mediaType: string; annotations: Readonly<Record<string, string>> }
);

/**
 * `omitted`: how many there are that were not read, because they are too many, too large or gone. `troubles`: why others
 * could not be read now.
 */
type Attachments = {
  manifest: Buffer;
  attachments: Attachment[];
  omitted: number;
  troubles: string[];
};

const Manifest = z.object({ layers: z.array(z.unknown()).max(1_000) });

const Layer = z.object({
  mediaType: z.string(),
  digest: Digest,
  size: z.int().min(0),
  annotations: z
    .record(z.string(), z.string())
    .nullish()
    .transform((annotations) => annotations ?? {}),
});

type Layer = z.infer<typeof Layer>;

export type ReadAttachments = (image: string, signal?: AbortSignal) => Promise<Attachments>;

/** For an image that is pinned to its digest. Throws a `ProblemError` when its manifest cannot be read. */
export function createReadAttachments(
  client: RegistryClient,
  patience: Patience = {},
): ReadAttachments {
  return async (image, signal) => {
    const name = parseImageName(image);
    const { digest = "" } = name;
    const wanted = { exchange: client(name, signal), image: name };
    const describe = (why: string) => `cannot read the signatures of ${name.tagged} (${why})`;
    const patiently: Patiently = (read, more) =>
      withRetries(() => unlessTooLarge(read(), describe), describe, { ...more, signal });
    const manifest = await patiently(() => readManifest(wanted, digest), patience);
    const reading = createReading();
    const found = await findLayers(wanted, { digest, reading, patiently });
    const attachments = await reading.each(found.filter(isSignature), async (layer) => {
      reading.spend(layer.size);
      const body = await patiently(() => readBlob(wanted, layer.digest));
      // Its size was what who pushed it has said.
      if (body.length > layer.size) throw new TooLarge("it is larger than it should be");
      return toAttachment(layer, body);
    });
    return { manifest, attachments, ...reading.notes() };
  };
}

type Patiently = <T>(read: () => Promise<T>, more?: Patience) => Promise<T>;
type NamedLayer = Layer & { from: string };

/** Of all manifests that are attached; each says in its layers what it has. */
async function findLayers(
  wanted: Wanted,
  { digest, reading, patiently }: { digest: string; reading: Reading; patiently: Patiently },
): Promise<NamedLayer[]> {
  const fromTag = (suffix: string) =>
    reading.settle(() => patiently(() => readTag(wanted, `${tagOf(digest)}.${suffix}`)));
  const [listed, signatures, statements] = await Promise.all([
    reading.settle(() => patiently(() => findReferrers(wanted, digest))),
    fromTag("sig"),
    fromTag("att"),
  ]);
  const referrers = (listed ?? []).filter(({ artifactType }) => mayBeSignature(artifactType));
  const layers = await reading.each(referrers, async (referrer) => {
    const bytes = await patiently(() => readManifest(wanted, referrer.digest));
    return layersOf(bytes, referrer.digest.slice(7, 19));
  });
  return [...layers.flat(), ...(signatures ?? []), ...(statements ?? [])];
}

/** The name of a digest as a tag (OCI distribution specification, "Referrers Tag Schema"). */
function tagOf(digest: string): string {
  return digest.replace(":", "-");
}

/** Also what has no type of its own: some clients write that of the configuration, which is empty, into the list. */
function mayBeSignature(artifactType: string): boolean {
  const others = [
    "",
    "application/vnd.oci.empty.v1+json",
    "application/vnd.dev.cosign.artifact.sig.v1+json",
  ];
  return isBundle(artifactType) || others.includes(artifactType);
}

function isBundle(mediaType: string): boolean {
  return mediaType.startsWith("application/vnd.dev.sigstore.bundle");
}

/** An image's own layers, and lists of its packages, are none. */
function isSignature({ mediaType }: Layer): boolean {
  const others = [
    "application/vnd.dev.cosign.simplesigning.v1+json",
    "application/vnd.dsse.envelope.v1+json",
  ];
  return isBundle(mediaType) || others.includes(mediaType);
}

async function readTag({ exchange, image }: Wanted, tag: string): Promise<NamedLayer[]> {
  const answer = await exchange({ method: "GET", path: `manifests/${tag}`, accept: manifestTypes });
  if (answer.status === 404) return [];
  judge(answer, image);
  return layersOf(answer.body, tag.slice(7, 19) + tag.slice(-4));
}

/** A manifest of another shape has none. */
function layersOf(manifest: Buffer, from: string): NamedLayer[] {
  const { data } = Manifest.safeParse(parseObject(manifest));
  return (data?.layers ?? []).flatMap((one) => {
    const { data: layer } = Layer.safeParse(one);
    return layer === undefined ? [] : [{ ...layer, from }];
  });
}

function toAttachment(
  { mediaType, annotations, from: name }: NamedLayer,
  body: Buffer,
): Attachment {
  if (isBundle(mediaType)) return { kind: "bundle", name, body };
  return { kind: "cosign", name, body, mediaType, annotations };
}
