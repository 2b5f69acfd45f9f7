/** The image gate: an image that a rollout names must exist, and is pinned to its digest. */
import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import type { RegistryConfig } from "./config.ts";
import type { FindCredential } from "./credentials.ts";
import { isAllowed, parseImageName } from "./image-name.ts";
import { createReadDigest, RegistryTrouble } from "./manifest.ts";
import { refuse } from "./refusal.ts";

/** Attempts besides the first, and the longest wait that a registry may ask for between two. */
const retries = 3;
const longestWaitMs = 5_000;

/**
 * Answers `image` with the digest that its tag has now: every sentinel then gets the same bits, even
 * when the tag moves. An image that has a digest already keeps it, whatever its tag says. Throws a
 * `ProblemError` (400 image_not_found, image_not_allowed, registry_auth; 503 registry_unavailable).
 */
export function createPinImage(settings: RegistryConfig, findCredential: FindCredential) {
  const readDigest = createReadDigest({ findCredential, insecure: settings.insecure });
  return async (image: string): Promise<string> => {
    const name = parseImageName(image);
    if (!isAllowed(name, settings.allowed)) {
      const allowed = settings.allowed.join(", ");
      throw refuse("image_not_allowed", `${name.tagged} is not from an allowed place: ${allowed}`);
    }
    const digest = await insist(() => readDigest(name, name.digest ?? name.tag), name.registry);
    return `${name.tagged}@${name.digest ?? digest}`;
  };
}

/** Tries again after trouble; a registry that stays silent is never taken for one without the image. */
async function insist<T>(action: () => Promise<T>, registry: string): Promise<T> {
  try {
    return await pRetry(action, {
      retries,
      minTimeout: 200,
      shouldRetry: ({ error }) => error instanceof RegistryTrouble,
      onFailedAttempt: async ({ error }) => {
        if (!(error instanceof RegistryTrouble) || error.afterMs === undefined) return;
        await delay(Math.min(error.afterMs, longestWaitMs));
      },
    });
  } catch (error) {
    if (!(error instanceof RegistryTrouble)) throw error;
    const detail = `the registry ${registry} gave no answer (${error.message}); try again later`;
    throw refuse("registry_unavailable", detail);
  }
}
