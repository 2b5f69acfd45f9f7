/** The image gate: checks that the image of a rollout exists, and pins it to its digest. */
import type { RegistryClient } from "./client.ts";
import type { RegistryConfig } from "./config.ts";
import { isAllowed, parseImageName } from "./image-name.ts";
import { createReadDigest } from "./manifest.ts";
import { refuse } from "./refusal.ts";
import { withRetries } from "./retries.ts";

/**
 * Returns `image` with the current digest of its tag, so that every sentinel gets the same content even if
 * the tag moves. An image with a digest keeps it, once the registry has confirmed that it exists: when tag
 * and digest disagree the digest wins, as it does when the image is pulled. Throws a `ProblemError` (400
 * invalid_request, image_not_found, image_not_allowed, registry_auth; 503 registry_unavailable, which does
 * not mean that the image is missing).
 */
export function createPinImage(settings: RegistryConfig, client: RegistryClient) {
  return async (image: string): Promise<string> => {
    const name = parseImageName(image);
    if (!isAllowed(name, settings.allowed)) {
      const allowed = settings.allowed.join(", ");
      const detail = `${name.tagged} is not in an allowed registry or repository`;
      throw refuse("image_not_allowed", `${detail}; registry.allowed has ${allowed}`);
    }
    const digest = await withRetries(
      createReadDigest(client, name, name.digest ?? name.tag ?? "latest"),
      (why) => `cannot check now whether the image exists in ${name.registry} (${why})`,
      { notFoundWaitMs: settings.not_found_wait_seconds * 1_000 },
    );
    return `${name.tagged}@${name.digest ?? digest}`;
  };
}
