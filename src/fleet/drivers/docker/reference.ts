/** Names an image for an engine. Pure. */
import { classifyPull } from "#fleet/drivers/pull-failure.ts";
import { compareImages, isSameContent } from "#kernel/image-reference.ts";

/** By digest where the name has one: engines before 25 refuse a tag beside it. */
export type ImageReference = { repository: string; tag: string; digest: string | undefined };

const pattern =
  /^(?<repository>(?:[\w.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>sha256:[a-f0-9]{64}))?$/i;

const id = /^sha256:[a-f0-9]{64}$/;

/** undefined: the name is none, or the id of an image that has no name. */
export function parseReference(image: string): ImageReference | undefined {
  const parts = pattern.exec(image)?.groups;
  if (parts === undefined || id.test(image)) return undefined;
  const { repository = "", tag = "latest", digest } = parts;
  return { repository, tag, digest };
}

export function nameForEngine(image: string): string {
  const reference = parseReference(image);
  if (reference === undefined) return image;
  const { repository, tag, digest } = reference;
  return digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
}

/**
 * The name of a container's image, so that the same one can be put back later: with its digest, since a tag may mean
 * another image by then; of an image without one, as it is built on the host, the tag if that still means it, else its
 * id.
 */
export function pinnedName(image: string, { Id, RepoDigests, RepoTags }: ImageNames): string {
  const name = id.test(image) ? (RepoTags[0] ?? RepoDigests[0] ?? image) : image;
  const reference = parseReference(name);
  if (reference === undefined || reference.digest !== undefined) return name;
  const { repository, tag } = reference;
  // Two names of the same repository: one has only the digest, the other only the tag.
  const own = RepoDigests.find((one) => compareImages(one, name) === "unknown");
  if (own !== undefined) return `${repository}:${tag}${own.slice(own.indexOf("@"))}`;
  return RepoTags.some((one) => isSameContent(one, name)) ? name : Id;
}

/** The name by which an image was ordered, as long as that means it. */
export function orderedName(ordered: string, image: ImageNames): string {
  const isStill = image.RepoTags.some((one) => isSameContent(one, ordered));
  return isStill ? ordered : pinnedName(ordered, image);
}

export type ImageNames = {
  Id: string;
  RepoDigests: readonly string[];
  RepoTags: readonly string[];
};

export type Credential = { user: string; password: string } | { identityToken: string };

/** The header `X-Registry-Auth`. An engine ignores one without its padding, and asks the registry as nobody. */
export function registryAuth(credential: Credential, registry: string): string {
  const server = {
    serveraddress: registry === "docker.io" ? "https://index.docker.io/v1/" : registry,
  };
  const body =
    "identityToken" in credential
      ? { identitytoken: credential.identityToken, ...server }
      : { username: credential.user, password: credential.password, ...server };
  return Buffer.from(JSON.stringify(body))
    .toString("base64")
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** `isPermanent`: no repetition can help. */
export type PullFailure = { reason: string; isPermanent: boolean };

/** Converts an engine's message about a failed pull, which quotes the registry. */
export function pullFailure(words: string): PullFailure {
  const { code = "registry_unavailable", isPermanent = false } = classifyPull(words) ?? {};
  return { reason: `${code}: ${words}`, isPermanent };
}
