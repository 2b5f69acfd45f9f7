/** The image gate: an image that a rollout names must exist, and is pinned to its digest. */
import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import type { RegistryConfig } from "./config.ts";
import type { FindCredential } from "./credentials.ts";
import { reachLimits } from "./exchange.ts";
import { isAllowed, parseImageName } from "./image-name.ts";
import { createReadDigest } from "./manifest.ts";
import { createReach } from "./reach.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";

/** Attempts besides the first; how long all may take; the longest wait a registry may ask for between two. */
const retries = 3;
const patienceMs = 30_000;
const longestAskedWaitMs = 10_000;

/**
 * Answers `image` with the digest that its tag has now: every sentinel then gets the same bits, even
 * when the tag moves. An image that has a digest already keeps it once the registry knows it: where
 * tag and digest disagree the digest wins, as it does wherever the image is pulled. Throws a
 * `ProblemError` (400 invalid_request, image_not_found, image_not_allowed, registry_auth; 503
 * registry_unavailable, never taken for a missing image).
 */
export function createPinImage(settings: RegistryConfig, findCredential: FindCredential) {
  const { insecure, token_hosts: tokenHosts } = settings;
  const allowedHosts = settings.allowed.map((entry) => entry.split("/")[0] ?? "");
  const reach = createReach([...allowedHosts, ...insecure, ...tokenHosts], reachLimits);
  const readDigest = createReadDigest({ findCredential, insecure, tokenHosts, reach });
  return async (image: string): Promise<string> => {
    const name = parseImageName(image);
    if (!isAllowed(name, settings.allowed)) {
      const allowed = settings.allowed.join(", ");
      const detail = `${name.tagged} comes from a place that is not allowed`;
      throw refuse("image_not_allowed", `${detail}; registry.allowed has ${allowed}`);
    }
    const digest = await insist(() => readDigest(name, name.digest ?? name.tag), name.registry);
    return `${name.tagged}@${name.digest ?? digest}`;
  };
}

/** Tries again after trouble, no sooner than the registry asks for. */
async function insist<T>(action: () => Promise<T>, registry: string): Promise<T> {
  let notBeforeMs = 0;
  const attempt = async () => {
    await delayUntil(notBeforeMs);
    return action();
  };
  try {
    const tried = pRetry(attempt, {
      retries,
      minTimeout: 200,
      maxRetryTime: patienceMs,
      onFailedAttempt: ({ error }) => {
        const { afterMs = 0 } = error instanceof RegistryTrouble ? error : {};
        notBeforeMs = performance.now() + afterMs;
      },
      shouldRetry: ({ error }) =>
        error instanceof RegistryTrouble && (error.afterMs ?? 0) <= longestAskedWaitMs,
    });
    return await Promise.race([tried, tooLate()]);
  } catch (error) {
    if (!(error instanceof RegistryTrouble)) throw error;
    throw refuse("registry_unavailable", describeTrouble(error, registry));
  }
}

/** A registry may answer every question just in time, and ask for one more. */
async function tooLate(): Promise<never> {
  await delay(patienceMs + longestAskedWaitMs, undefined, { ref: false });
  throw new RegistryTrouble("it takes too long");
}

async function delayUntil(timeMs: number): Promise<void> {
  const waitMs = timeMs - performance.now();
  if (waitMs > 0) await delay(waitMs);
}

function describeTrouble({ message, afterMs = 0 }: RegistryTrouble, registry: string): string {
  const when = afterMs === 0 ? "later" : `in ${Math.ceil(afterMs / 1_000)} seconds`;
  return `the registry ${registry} cannot tell now whether the image exists (${message}); try again ${when}`;
}
