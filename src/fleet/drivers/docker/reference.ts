/** How an image's name is given to an engine. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";

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

/** As `Image` of a container. */
export function nameForEngine(image: string): string {
  const reference = parseReference(image);
  if (reference === undefined) return image;
  const { repository, tag, digest } = reference;
  return digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
}

/** The registry of an image, as people write it. */
export function registryOf({ repository }: ImageReference): string {
  const [first = "", ...rest] = repository.split("/");
  const isHost = rest.length > 0 && (first === "localhost" || /[.:]/.test(first));
  return isHost ? first.toLowerCase().replace(/^index\.(?=docker\.io$)/, "") : "docker.io";
}

/** The repository of an image in its registry. */
export function pathOf(reference: ImageReference): string {
  const path = reference.repository.replace(/^(localhost|[^/]*[.:][^/]*)\//, "");
  return registryOf(reference) === "docker.io" && !path.includes("/") ? `library/${path}` : path;
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
  const own = RepoDigests.map(splitDigest).find(([of]) => familiar(of) === familiar(repository));
  if (own !== undefined) return `${repository}:${tag}@${own[1]}`;
  const isStill = RepoTags.some((one) => familiar(one) === familiar(`${repository}:${tag}`));
  return isStill ? name : Id;
}

/** The name by which an image was ordered, as long as that means it. */
export function orderedName(ordered: string, image: ImageNames): string {
  const isStill = image.RepoTags.some((one) => familiar(one) === familiar(nameForEngine(ordered)));
  return isStill ? ordered : pinnedName(ordered, image);
}

type ImageNames = { Id: string; RepoDigests: readonly string[]; RepoTags: readonly string[] };

function splitDigest(name: string): [repository: string, digest: string] {
  const at = name.indexOf("@");
  return [name.slice(0, at), name.slice(at + 1)];
}

/** As an engine names images of Docker Hub. */
function familiar(name: string): string {
  return name.replace(/^(index\.)?docker\.io\//, "").replace(/^library\//, "");
}

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

/** What an engine says of a pull that failed, in the words of the registry. */
export function pullFailure(words: string): PullFailure {
  const [code, isPermanent] = classify(words);
  return { reason: `${code}: ${words}`, isPermanent };
}

function classify(words: string): [ReasonCode, isPermanent: boolean] {
  if (/toomanyrequests|too many requests/i.test(words)) return ["registry_unavailable", false];
  if (/no matching manifest|does not match the specified platform/i.test(words)) {
    return ["image_platform", true];
  }
  if (/no basic auth|unauthorized|denied|authentication required/i.test(words)) {
    return ["image_auth", true];
  }
  if (/invalid reference|invalid repository name/i.test(words)) return ["invalid_image", true];
  if (/manifest unknown|name unknown|not found/i.test(words)) return ["image_not_found", true];
  return ["registry_unavailable", false];
}
