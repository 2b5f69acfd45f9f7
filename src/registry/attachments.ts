/**
 * Finds the signatures that are attached to an image: by the referrers of its digest (OCI distribution specification,
 * "Listing Referrers"), or by the tags that came before them.
 */
import pLimit from "p-limit";
import { z } from "zod";
import type { RegistryClient } from "./client.ts";
import { Digest, parseObject, readBlob, readManifest, type Wanted } from "./content.ts";
import { parseImageName } from "./image-name.ts";
import { judge, manifestTypes } from "./manifest.ts";
import { findReferrers } from "./referrers.ts";
import { withRetries } from "./retries.ts";

/** `name`: a tag, or the beginning of a digest. `cosign`: a layer of cosign's own tags, with what it is annotated by. */
type Attachment = { name: string; body: Buffer } & (
  | { kind: "bundle" }
  | { kind: "cosign"; mediaType: string; annotations: Readonly<Record<string, string>> }
);

/** `troubles`: why some could not be read. */
type Attachments = { manifest: Buffer; attachments: Attachment[]; troubles: string[] };

const Signatures = z.object({
  layers: z.array(
    z.object({
      mediaType: z.string(),
      digest: Digest,
      size: z.number().max(1_024 * 1_024),
      annotations: z.record(z.string(), z.string()).default({}),
    }),
  ),
});

/** Of one image; whoever may push can attach as many as they like. */
const mostAttachments = 50;
const atOnce = 4;

export type ReadAttachments = (image: string) => Promise<Attachments>;

/** For an image that is pinned to its digest. Throws a `ProblemError` when its manifest cannot be read. */
export function createReadAttachments(client: RegistryClient): ReadAttachments {
  return async (image) => {
    const name = parseImageName(image);
    const { digest = "" } = name;
    const wanted = { exchange: client(name), image: name };
    const patiently = <T>(read: () => Promise<T>) =>
      withRetries(read, (why) => `cannot read the signatures of ${name.tagged} (${why})`);
    const manifest = await patiently(() => readManifest(wanted, digest));
    const found = await Promise.allSettled([
      patiently(() => readReferrers(wanted, digest)),
      patiently(() => readTag(wanted, `${tagOf(digest)}.sig`)),
      patiently(() => readTag(wanted, `${tagOf(digest)}.att`)),
    ]);
    const attachments = found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    const troubles = found.flatMap((one) => (one.status === "rejected" ? [messageOf(one)] : []));
    return { manifest, attachments: attachments.slice(0, mostAttachments), troubles };
  };
}

/** The name of a digest as a tag (OCI distribution specification, "Referrers Tag Schema"). */
function tagOf(digest: string): string {
  return digest.replace(":", "-");
}

async function readReferrers(wanted: Wanted, digest: string): Promise<Attachment[]> {
  const referrers = await findReferrers(wanted, digest);
  const known = referrers.filter(({ artifactType }) => isSignature(artifactType));
  const limit = pLimit(atOnce);
  const read = async ({ digest: referrer }: { digest: string }) =>
    readLayers(wanted, await readManifest(wanted, referrer), referrer.slice(7, 19));
  return (
    await Promise.all(known.slice(0, mostAttachments).map((one) => limit(() => read(one))))
  ).flat();
}

function isSignature(artifactType: string): boolean {
  return (
    isBundle(artifactType) || artifactType === "application/vnd.dev.cosign.artifact.sig.v1+json"
  );
}

function isBundle(mediaType: string): boolean {
  return mediaType.startsWith("application/vnd.dev.sigstore.bundle");
}

async function readTag(wanted: Wanted, tag: string): Promise<Attachment[]> {
  const { exchange, image } = wanted;
  const answer = await exchange({ method: "GET", path: `manifests/${tag}`, accept: manifestTypes });
  if (answer.status === 404) return [];
  judge(answer, image);
  return readLayers(wanted, answer.body, tag.slice(7, 19) + tag.slice(-4));
}

/** One attachment for each layer; a manifest of another shape has none. */
async function readLayers(wanted: Wanted, manifest: Buffer, name: string): Promise<Attachment[]> {
  const { data } = Signatures.safeParse(parseObject(manifest));
  const attachments: Attachment[] = [];
  for (const layer of (data?.layers ?? []).slice(0, mostAttachments)) {
    const { mediaType, annotations } = layer;
    const body = await readBlob(wanted, layer.digest);
    if (isBundle(mediaType)) attachments.push({ kind: "bundle", name, body });
    else attachments.push({ kind: "cosign", name, body, mediaType, annotations });
  }
  return attachments;
}

function messageOf({ reason }: PromiseRejectedResult): string {
  return (reason as Error).message;
}
