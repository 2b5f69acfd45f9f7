/** The image of a request, as its registry knows it. */
import {
  describeRequestedImage,
  type ImageReference,
  parseImageReference,
  requestedImage,
} from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";

type RegistryProblemCode =
  | "invalid_request"
  | "image_not_found"
  | "image_not_allowed"
  | "registry_auth"
  | "registry_unavailable"
  | "image_unreadable";

const statuses: Record<RegistryProblemCode, number> = {
  invalid_request: 400,
  image_not_found: 400,
  image_not_allowed: 400,
  registry_auth: 400,
  registry_unavailable: 503,
  image_unreadable: 400,
};

/** Errors of a registry: refusals, which are final, and trouble, which may be temporary. */
export function refuse(
  code: RegistryProblemCode,
  detail: string,
): ProblemError<RegistryProblemCode> {
  return new ProblemError({ status: statuses[code], code, detail });
}

/** An error that may be temporary: the caller retries, after `afterMs` if the server gave one. */
export class RegistryTrouble extends Error {
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number) {
    super(message);
    this.name = "RegistryTrouble";
    this.afterMs = afterMs;
  }
}

/** More than we read of one answer. */
export class TooLarge extends RegistryTrouble {}

export type ImageName = ImageReference & {
  /** host[:port] to connect to. */
  host: string;
  /** The reference without its digest, as shown to people. */
  tagged: string;
};

/** Limit that lets the reference with its digest, which is deployed, fit the 512 characters of an image. */
const maxTagged = 440;

/**
 * Parses what a request may name. Throws a `ProblemError` (400 invalid_request) for anything
 * else, and when the first part is not a host: container engines read `team/app:v2` as an image of Docker's
 * registry, so we would check another image than they run. Also refuses what looks like a host but is not
 * valid in a URL, since the request would fail later.
 */
export function parseImageName(image: string): ImageName {
  const [first = "", ...rest] = image.split("/");
  if (rest.length > 0 && isHost(first) && !URL.canParse(`https://${first}/`)) {
    const detail = `"${image}" names ${first} as its registry, which is not a valid host`;
    throw refuse("invalid_request", detail);
  }
  const reference = requestedImage.test(image) ? parseImageReference(image) : undefined;
  if (reference === undefined) {
    throw refuse("invalid_request", `"${image}" is not ${describeRequestedImage(image)}`);
  }
  const [tagged = ""] = image.split("@");
  if (tagged.length > maxTagged) {
    const detail = `"${tagged.slice(0, 60)}…" has ${tagged.length} characters before its digest`;
    throw refuse("invalid_request", `${detail}; ${maxTagged} are the most`);
  }
  if (!isHost(first)) {
    const hint = `for an image of Docker's registry write docker.io/${image}`;
    throw refuse("invalid_request", `"${image}" names no registry; ${hint}`);
  }
  // The host of Docker's registry differs from the name that people write.
  const host = reference.registry === "docker.io" ? "registry-1.docker.io" : reference.registry;
  return { ...reference, host, tagged };
}

/** The rule by which container engines distinguish a host from the first part of a repository. */
function isHost(text: string): boolean {
  return text === "localhost" || /[.:]/.test(text);
}

/** True if `allowed` has its registry, or a prefix of registry/repository in whole parts; empty allows all. */
export function isAllowed(image: ImageName, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const name = `${image.registry}/${image.repository}`;
  return allowed
    .map((entry) => entry.replace(/\/+$/, ""))
    .some((prefix) => name === prefix || name.startsWith(`${prefix}/`));
}

/** True if this host[:port] is called by plain http: it is this machine, or listed. */
export function isPlainHttp(host: string, insecure: readonly string[]): boolean {
  return insecure.includes(host) || isLoopback(host);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host);
}
