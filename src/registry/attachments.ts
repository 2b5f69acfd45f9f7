/** Finds an image's signatures, by referrers (OCI, "Listing Referrers") or by tags. Pushers attach what they like. */
import pLimit from "p-limit";
import { z } from "zod";
import { ProblemError } from "#kernel/problem.ts";
import { listOf } from "#kernel/setting.ts";
import type { RegistryClient } from "./client.ts";
import {
  type ContentSource,
  Digest,
  parseObject,
  readBlob,
  readManifest,
  unlessTooLarge,
} from "./content.ts";
import type { Answer } from "./exchange.ts";
import { parseImageName, TooLarge } from "./image-name.ts";
import { manifestTypes, requireSuccess } from "./manifest.ts";
import { type Patience, withRetries } from "./retries.ts";

/** `name`: a tag, or the beginning of a digest. `cosign`: a layer of cosign's own tags, with what it is annotated by. */
type Attachment = { name: string; body: Buffer } & (
  | { kind: "bundle" }
  | { kind: "cosign"; mediaType: string; annotations: Readonly<Record<string, string>> }
);

/** `omitted`: how many were too many, too large or gone. `troubles`: why others could not be read now. */
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

/** Reads attachments of images pinned to a digest. Throws a `ProblemError` when a manifest cannot be read. */
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

async function findLayers(
  wanted: ContentSource,
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

/** True also without a type of its own: some clients write that of the configuration, which is empty, into the list. */
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

async function readTag({ exchange, image }: ContentSource, tag: string): Promise<NamedLayer[]> {
  const answer = await exchange({ method: "GET", path: `manifests/${tag}`, accept: manifestTypes });
  if (answer.status === 404) return [];
  requireSuccess(answer, image);
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

/** Reads many small things about one image, within limits, and notes what it could not read. */
type Reading = ReturnType<typeof createReading>;

const most = 50;
const atOnce = 4;
const largest = 1_024 * 1_024;
const mostBytes = 8 * largest;

function createReading() {
  let left = mostBytes;
  let omitted = 0;
  const troubles: string[] = [];

  /** undefined: it could not be read, which is noted. */
  const settle = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (isOfImage(error)) omitted += 1;
      else troubles.push((error as Error).message);
      return undefined;
    }
  };

  return {
    settle,

    /** Reads the first 50, and returns those that could be read. */
    async each<One, T>(list: readonly One[], read: (one: One) => Promise<T>): Promise<T[]> {
      omitted += Math.max(0, list.length - most);
      const limit = pLimit(atOnce);
      const reading = list.slice(0, most).map((one) => limit(() => settle(() => read(one))));
      return (await Promise.all(reading)).filter((found) => found !== undefined);
    },

    /** Throws `TooLarge` for more than 1 MiB, and for more than 8 MiB in all. */
    spend(bytes: number): void {
      if (bytes > Math.min(largest, left)) throw new TooLarge("it is too large");
      left -= bytes;
    },

    /** Counts those that were not read because they are too many, too large or gone; `troubles`: why others were not. */
    notes: () => ({ omitted, troubles }),
  };
}

/** True if the cause is the content that was pushed, and not the registry. */
function isOfImage(error: unknown): boolean {
  if (error instanceof TooLarge) return true;
  const { code = "" } = error instanceof ProblemError ? error : {};
  return ["image_not_found", "image_unreadable"].includes(code);
}

const Referrers = z.object({
  manifests: listOf(
    z.object({ digest: z.string(), artifactType: z.string().default("") }),
    100_000,
  ),
});
/** Lists what refers to an image (OCI distribution specification, "Listing Referrers"). */
type Referrer = z.infer<typeof Referrers>["manifests"][number];

const indexType = "application/vnd.oci.image.index.v1+json";

/** A registry decides how long its pages are. */
const mostPages = 10;

/** A registry that does not know the question has an index under a tag ("Referrers Tag Schema"). */
async function findReferrers(wanted: ContentSource, digest: string): Promise<Referrer[]> {
  const found: Referrer[] = [];
  let path: string | undefined = `referrers/${digest}`;
  for (let page = 0; path !== undefined && page < mostPages; page += 1) {
    const answer = await wanted.exchange({ method: "GET", path, accept: indexType });
    const referrers = answer.status === 200 ? referrersIn(answer) : undefined;
    if (referrers === undefined && page === 0 && isUnknown(answer, wanted.image.host)) {
      return fromTag(wanted, digest);
    }
    requireSuccess(answer, wanted.image);
    found.push(...(referrers ?? []));
    path = nextPage(answer, digest);
  }
  return found;
}

/** Registries without referrers answer 404, an error of theirs, or a page, perhaps on another host. */
function isUnknown({ status, address }: Answer, asked: string): boolean {
  return address.host !== asked || [200, 400, 404, 405, 406, 410, 422, 501].includes(status);
}

async function fromTag({ exchange, image }: ContentSource, digest: string): Promise<Referrer[]> {
  const path = `manifests/${digest.replace(":", "-")}`;
  const answer = await exchange({ method: "GET", path, accept: manifestTypes });
  if (answer.status === 404) return [];
  requireSuccess(answer, image);
  return referrersIn(answer) ?? [];
}

function referrersIn({ body }: Answer): Referrer[] | undefined {
  const { data: index } = Referrers.safeParse(parseObject(body));
  return index?.manifests.filter(({ digest }) => Digest.safeParse(digest).success);
}

/** Returns what the next page's link adds to our own address: a registry does not send us to others (RFC 8288). */
function nextPage({ header }: Answer, digest: string): string | undefined {
  const [, target] = /<([^<>]*)>\s*;[^,<]*\brel="?next"?/.exec(header("link") ?? "") ?? [];
  if (target === undefined) return undefined;
  const query = target.includes("?") ? target.slice(target.indexOf("?")) : "";
  return query === "" ? undefined : `referrers/${digest}${query}`;
}
