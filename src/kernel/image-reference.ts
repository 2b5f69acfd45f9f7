/** Image references, `[registry/]repository[:tag][@digest]`, and the one rule for "is it the same image". Pure. */

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

const dockerHosts: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/** The parts of a reference; undefined when the text is none, or is the id of an image without a name. */
export function parseImageReference(text: string): ImageReference | undefined {
  // Before containerd, kubelets reported `docker-pullable://name@digest`.
  const parts = pattern.exec(text.replace(/^[a-z-]+:\/\//, ""))?.groups;
  if (parts?.["name"] === undefined || /^sha\d+$/.test(parts["name"])) return undefined;
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

/**
 * Compares two references. Digests decide where both have one, whatever name or mirror they stand behind; else names
 * and tags do. `unknown`: one has only a tag and the other only a digest of the same repository.
 */
export function compareImages(one: string, other: string): "same" | "other" | "unknown" {
  if (one === other) return "same";
  const [a, b] = [parseImageReference(one), parseImageReference(other)];
  if (a === undefined || b === undefined) return "other";
  if (a.digest !== undefined && b.digest !== undefined) {
    return a.digest === b.digest ? "same" : "other";
  }
  if (a.registry !== b.registry || a.repository !== b.repository) return "other";
  if (a.tag === undefined || b.tag === undefined) return "unknown";
  return a.tag === b.tag ? "same" : "other";
}

/** True if both references certainly mean the same image. */
export function isSameImage(one: string, other: string): boolean {
  return compareImages(one, other) === "same";
}
