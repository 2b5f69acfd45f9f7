/** An image reference, taken apart. */
import { refuse } from "./refusal.ts";

export type ImageName = {
  /** host[:port] as people write it, in lower case. */
  registry: string;
  /** host[:port] that is asked. */
  host: string;
  repository: string;
  tag: string;
  /** `sha256:…`, when the reference had one. */
  digest: string | undefined;
  /** The reference without its digest: what people read. */
  tagged: string;
};

/** No part of a repository is `.` or `..`, which an address would be resolved by. */
const pattern =
  /^(?<registry>[A-Za-z0-9[\]:.-]+)\/(?<repository>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*):(?<tag>\w[\w.-]{0,127})(?:@(?<digest>sha256:[a-f0-9]{64}))?$/;

/** With its digest, as which it is deployed, it stays within the 512 characters of an image. */
const maxTagged = 440;

/**
 * Takes `{registry}/{repository}:<tag>[@digest]` apart. Throws a `ProblemError` (400
 * invalid_request) for anything else, and for a first part that is no host: container engines take
 * `team/app:v2` for an image of Docker's registry, so that we would check another one than they run.
 * What could be a host by its look, but is none, would fail only when it is asked.
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
      `"${image}" names ${registry} as its registry, which is no host`,
    );
  }
  const name = registry.toLowerCase();
  const isDockerHub = name === "docker.io" || name === "index.docker.io";
  return {
    registry: isDockerHub ? "docker.io" : name,
    // Docker's registry answers under another name than people write.
    host: isDockerHub ? "registry-1.docker.io" : name,
    repository: isDockerHub && !repository.includes("/") ? `library/${repository}` : repository,
    tag,
    digest,
    tagged,
  };
}

/** The rule by which container engines tell a host from the first part of a repository. */
function isHost(text: string): boolean {
  return text === "localhost" || /[.:]/.test(text);
}

/**
 * Whether an image may come from where it does: `allowed` has registries and registry/repository
 * prefixes, which end where a part of the name ends; empty allows all.
 */
export function isAllowed(image: ImageName, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const name = `${image.registry}/${image.repository}`;
  return allowed
    .map((entry) => entry.replace(/\/+$/, ""))
    .some((prefix) => name === prefix || name.startsWith(`${prefix}/`));
}

/** Whether this host[:port] may be spoken to over plain http: on this machine, or listed. */
export function isPlainHttp(host: string, insecure: readonly string[]): boolean {
  return insecure.includes(host) || isLoopback(host);
}

/** Whether a host[:port] is this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host);
}
