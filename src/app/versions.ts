/** Wires what frees a rollout from invocations that another version of the program has begun. */
import { callRestate } from "#kernel/restate-send.ts";
import { rolloutRelease } from "#rollout/internal.ts";
import { isHandedAgain, releasedServices } from "#rollout/release.ts";
import { createRestateAdmin } from "#worker/restate-admin.ts";
import { watchVersions } from "#worker/version-watch.ts";
import type { ReadInput, Wedged } from "#worker/wedged.ts";
import type { Base } from "./base.ts";

export type VersionParts = {
  adminUrl: string;
  ingressUrl: string;
  workerUrl: string;
  revision: string;
};

export function startVersionWatch(
  { log }: Base,
  parts: VersionParts,
): { stop: () => Promise<void> } {
  const { adminUrl, ingressUrl, workerUrl, revision } = parts;
  const address = `${ingressUrl}/${rolloutRelease.name}/release`;
  return watchVersions({
    admin: createRestateAdmin(adminUrl),
    workerUrl,
    revision,
    services: releasedServices,
    log,
    release: async (wedged, readInput) => {
      const calls = await Promise.all(wedged.map((call) => withInput(call, readInput)));
      await callRestate(address, { revision, wedged: calls });
    },
  });
}

async function withInput(call: Wedged, readInput: ReadInput) {
  const { id, service, key, handler, parent, revision } = call;
  const input = isHandedAgain(call) ? await readInput(id) : undefined;
  return { id, service, key, handler, parent, revision, ...(input !== undefined && { input }) };
}
