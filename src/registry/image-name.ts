/** Parses image references. */
import { refuse } from "./refusal.ts";

export type ImageName = {
  /** host[:port] as people write it, in lower case. */
  registry: string;
  /** host[:port] to connect to. */
  host: string;
  repository: string;
  tag: string;
  /** `sha256:…`, when the reference had one. */
  digest: string | undefined;
  /** The reference without its digest, as shown to people. */
  tagged: string;
};

/** No part of a repository may be `.` or `..`, because URLs are normalized by those. */
const pattern =
  /^(?<registry>[A-Za-z0-9[\]:.-]+)\/(?<repository>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*):(?<tag>\w[\w.-]{0,127})(?:@(?<digest>sha256:[a-f0-9]{64}))?$/;

/** So that the reference with its digest, which is deployed, fits the 512 characters of an image. */
const maxTagged = 440;

/**
 * Parses `{registry}/{repository}:<tag>[@digest]`. Throws a `ProblemError` (400 invalid_request) for anything
 * else, and when the first part is not a host: container engines read `team/app:v2` as an image of Docker's
 * registry, so we would check another image than they run. Also refuses what looks like a host but is not
 * valid in a URL, since the request would fail later.
 */
export function parseImageName(image: string): ImageName {
  const parts = pattern.exec(image)?.groups;
  if (parts === undefined) {
    throw refuse("invalid_request", `"${image}" is not {registry}/{repository}:<tag>`);
  }
  const { registry = "", repository = "", tag = "", digest } = parts;
  const tagged = `${registry}/${repository}:${tag}`;
  if (tagged.length > maxTagged) {
    const detail = `"${tagged.slice(0, 60)}…" has ${tagged.length} characters before its digest`;
    throw refuse("invalid_request", `${detail}; ${maxTagged} are the most`);
  }
  if (!isHost(registry)) {
    const hint = `for an image of Docker's registry write docker.io/${registry}/${repository}:${tag}`;
    throw refuse("invalid_request", `"${image}" names no registry; ${hint}`);
  }
  if (!URL.canParse(`https://${registry}/`)) {
    throw refuse(
      "invalid_request",
      `"${image}" names ${registry} as its registry, which is not a valid host`,
    );
  }
  const name = registry.toLowerCase();
  const isDockerHub = name === "docker.io" || name === "index.docker.io";
  return {
    registry: isDockerHub ? "docker.io" : name,
    // The host of Docker's registry differs from the name that people write.
    host: isDockerHub ? "registry-1.docker.io" : name,
    repository: isDockerHub && !repository.includes("/") ? `library/${repository}` : repository,
    tag,
    digest,
    tagged,
  };
}

/** The rule by which container engines distinguish a host from the first part of a repository. */
function isHost(text: string): boolean {
  return text === "localhost" || /[.:]/.test(text);
}

/**
 * Whether an image's registry and repository are allowed: `allowed` has registries and registry/repository
 * prefixes, which match whole parts of the name; empty allows all.
 */
export function isAllowed(image: ImageName, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const name = `${image.registry}/${image.repository}`;
  return allowed
    .map((entry) => entry.replace(/\/+$/, ""))
    .some((prefix) => name === prefix || name.startsWith(`${prefix}/`));
}

/** Whether to use plain http for this host[:port]: it is this machine, or listed. */
export function isPlainHttp(host: string, insecure: readonly string[]): boolean {
  return insecure.includes(host) || isLoopback(host);
}

/** Whether a host[:port] is this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host);
}
