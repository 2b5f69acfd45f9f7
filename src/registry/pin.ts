/** The image gate: checks that the image of a rollout exists, and pins it to its digest. */
import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import type { RegistryConfig } from "./config.ts";
import type { FindCredential } from "./credentials.ts";
import { reachLimits } from "./exchange.ts";
import { isAllowed, parseImageName } from "./image-name.ts";
import { createReadDigest } from "./manifest.ts";
import { createReach } from "./reach.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";

/** Retries after the first attempt; their time limit; the longest `Retry-After` of a registry that we accept. */
const retries = 3;
const patienceMs = 30_000;
const longestAskedWaitMs = 10_000;

/**
 * Returns `image` with the current digest of its tag, so that every sentinel gets the same content even if
 * the tag moves. An image with a digest keeps it, once the registry has confirmed that it exists: when tag
 * and digest disagree the digest wins, as it does when the image is pulled. Throws a `ProblemError` (400
 * invalid_request, image_not_found, image_not_allowed, registry_auth; 503 registry_unavailable, which does
 * not mean that the image is missing).
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
      const detail = `${name.tagged} is not in an allowed registry or repository`;
      throw refuse("image_not_allowed", `${detail}; registry.allowed has ${allowed}`);
    }
    const digest = await withRetries(
      () => readDigest(name, name.digest ?? name.tag),
      name.registry,
    );
    return `${name.tagged}@${name.digest ?? digest}`;
  };
}

/** Retries after `RegistryTrouble`, no sooner than the registry's `Retry-After`. */
async function withRetries<T>(action: () => Promise<T>, registry: string): Promise<T> {
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

/** A limit for the whole, because an attempt has several requests that may each take almost their timeout. */
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
  return `cannot check now whether the image exists in ${registry} (${message}); try again ${when}`;
}
