/** Parses image references, `[registry/]repository[:tag][@digest]`, and decides if two are the same image. Pure. */

/** The parts of a reference as engines complete them: Docker's registry where none is named. */
export type ImageReference = {
  /** host[:port], in lower case; every name of Docker's registry is `docker.io`. */
  registry: string;
  repository: string;
  /** `latest` when the reference has neither tag nor digest. */
  tag: string | undefined;
  digest: string | undefined;
};

const pattern =
  /^(?<name>[^@\s]+?)(?::(?<tag>[^/:@\s]+))?(?:@(?<digest>[a-z0-9.+_-]+:[0-9a-f]{32,}))?$/i;

/** An image without a name: engines call it by the digest of its configuration. */
const idPattern = /^sha\d+:[0-9a-f]{32,}$/i;

const dockerHosts: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/** Longer texts are no references. */
const maxChars = 1_024;

/** Recently parsed references: a fleet has few images and very many sentinels. */
const parsed = new Map<string, ImageReference>();
const maxParsed = 1_000;

/** The parts of a reference; undefined when the text is none, or is the id of an image without a name. */
export function parseImageReference(text: string): ImageReference | undefined {
  const known = parsed.get(text);
  if (known !== undefined || text.length > maxChars) return known;
  const reference = parse(text);
  if (parsed.size >= maxParsed) parsed.clear();
  if (reference !== undefined) parsed.set(text, reference);
  return reference;
}

function parse(text: string): ImageReference | undefined {
  const plain = withoutScheme(text);
  const parts = idPattern.test(plain) ? undefined : pattern.exec(plain)?.groups;
  if (parts?.["name"] === undefined) return undefined;
  const { name, digest } = parts;
  const [first = "", ...rest] = name.split("/");
  const hasHost = rest.length > 0 && (first === "localhost" || /[.:]/.test(first));
  const host = hasHost ? first.toLowerCase() : "docker.io";
  const registry = dockerHosts.includes(host) ? "docker.io" : host;
  const path = hasHost ? rest.join("/") : name;
  return {
    registry,
    repository: registry === "docker.io" && !path.includes("/") ? `library/${path}` : path,
    tag: parts["tag"] ?? (digest === undefined ? "latest" : undefined),
    digest: digest?.toLowerCase(),
  };
}

/** Removes the scheme: kubelets reported `docker-pullable://name@digest` before containerd. */
function withoutScheme(text: string): string {
  return text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, "");
}

type ImageRelation = "same" | "other" | "unknown";

/**
 * Compares two references. Digests decide where both have one, whatever name or mirror they stand behind; else names
 * and tags do. `unknown`: one has only a tag and the other only a digest of the same repository, is an id, or has
 * the name of a mirror.
 */
export function compareImages(one: string, other: string): ImageRelation {
  if (one === other) return "same";
  const [a, b] = [parseImageReference(one), parseImageReference(other)];
  if (a === undefined) return compareId(b, one);
  return b === undefined ? compareId(a, other) : compareReferences(a, b);
}

function compareReferences(a: ImageReference, b: ImageReference): ImageRelation {
  if (a.digest !== undefined && b.digest !== undefined) {
    return a.digest === b.digest ? "same" : "other";
  }
  const isNamedAlike = a.registry === b.registry && a.repository === b.repository;
  if (!isNamedAlike && !isMirrorOf(a, b) && !isMirrorOf(b, a)) return "other";
  if (a.tag === undefined || b.tag === undefined) return "unknown";
  if (a.tag !== b.tag) return "other";
  return isNamedAlike ? "same" : "unknown";
}

/** True if one name stands within the other, as mirrors that are told apart by a path name what they copy. */
function isMirrorOf({ repository }: ImageReference, origin: ImageReference): boolean {
  return `/${repository}`.endsWith(`/${origin.registry}/${origin.repository}`);
}

/** The digest of a configuration is another one than that of its manifest, so that only an equal one says something. */
function compareId(named: ImageReference | undefined, text: string): ImageRelation {
  const id = withoutScheme(text).toLowerCase();
  if (named === undefined || !idPattern.test(id)) return "other";
  return named.digest === id ? "same" : "unknown";
}

/** True if both references certainly mean the same image. */
export function isSameImage(one: string, other: string): boolean {
  return compareImages(one, other) === "same";
}

/** True if they also have the same content for certain: the tag that one of two names has alone may have been moved. */
export function isSameContent(one: string, other: string): boolean {
  return isSameImage(one, other) && (one === other || hasDigest(one) === hasDigest(other));
}

/** True if they certainly have not: names alone may be those of mirrors. */
export function isOtherContent(one: string, other: string): boolean {
  return hasDigest(one) && hasDigest(other) && !isSameImage(one, other);
}

export function hasDigest(image: string): boolean {
  return parseImageReference(image)?.digest !== undefined;
}

/** True if a sentinel needs no deploy of this image: it was ordered and certainly runs. */
export function alreadyRuns(of: { image: string; running_image: string }, image: string): boolean {
  return isSameImage(of.image, image) && isSameContent(of.running_image, image);
}

/** Shortens the digest to its first 12 digits, for people. */
export function shortenImage(image: string): string {
  return image.replace(/((?:^|@)[a-z0-9.+_-]+:[0-9a-f]{12})[0-9a-f]{20,}$/i, "$1");
}

/** A registry, a repository, and a tag, a digest (sha256) or both; no part is `.` or `..`, by which URLs are normalized. */
export const requestedImage =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+(?::\w[\w.-]{0,127}(?:@sha256:[a-f0-9]{64})?|@sha256:[a-f0-9]{64})$/;

/** Describes the expected form and the fault of an image, to follow "must be" or "is not". */
export function describeRequestedImage(image: string): string {
  const forms = "{registry}/{repository}:<tag> or {registry}/{repository}@sha256:<digest>";
  const right = spellRight(image);
  if (right !== undefined) return `${forms}: write ${right}`;
  const [, fault = "for example registry.example.com/team/app:v2"] =
    faults.find(([sign]) => sign.test(image.slice(0, maxChars))) ?? [];
  return `${forms}: ${fault}`;
}

/** The image without what a copy may have brought along, if nothing else is wrong with it. */
function spellRight(image: string): string | undefined {
  const [name = "", ...digest] = withoutScheme(image.trim()).split("@");
  const right = [name, ...digest.map((text) => text.toLowerCase())].join("@");
  return requestedImage.test(right) && right.length <= maxChars ? right : undefined;
}

const faults: readonly [RegExp, string][] = [
  [/\s/, "it has a blank or a line break inside"],
  [/^[a-z][a-z0-9+.-]*:\/\//i, "it has a scheme"],
  [/^[^/]+$/, "it names no registry; Docker's is docker.io"],
  [/@/, "a digest is sha256: and 64 digits of 0-9 and a-f; others, such as sha512, are not taken"],
  [/\/[^:]*[A-Z]/, "a repository is in lower case"],
  [/\/[^:]+$/, "it has neither a tag nor a digest"],
];
