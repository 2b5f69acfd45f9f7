/** An image reference, taken apart. */

export type ImageName = {
  /** host[:port] as it is asked. */
  registry: string;
  repository: string;
  tag: string;
  digest: string | undefined;
  /** The reference without its digest: what people read. */
  tagged: string;
};

/**
 * Takes `{registry}/{repository}:<tag>[@digest]` apart. The caller has checked its form. Docker's
 * own registry answers under another name than people write.
 */
export function parseImageName(image: string): ImageName {
  const [tagged = "", digest] = image.split("@");
  const slash = tagged.indexOf("/");
  const colon = tagged.lastIndexOf(":");
  const registry = tagged.slice(0, slash);
  return {
    registry: registry === "docker.io" ? "registry-1.docker.io" : registry,
    repository: tagged.slice(slash + 1, colon),
    tag: tagged.slice(colon + 1),
    digest,
    tagged,
  };
}

/** Whether an image may come from where it does. A prefix ends where a part of the name ends. */
export function isAllowed(image: ImageName, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const name = image.tagged.slice(0, image.tagged.lastIndexOf(":"));
  return allowed.some((prefix) => name === prefix || name.startsWith(`${prefix}/`));
}

/** Whether a registry on this host may be spoken to over plain http. */
export function isPlainHttp(registry: string, insecure: readonly string[]): boolean {
  return insecure.includes(registry) || isLoopback(registry);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/.test(host);
}
