/** Wires the version watch, which releases invocations that another version started. */
import { callRestate } from "#kernel/restate-send.ts";
import { rolloutRelease } from "#rollout/internal.ts";
import { isResent, releasedServices as rolloutServices } from "#rollout/services/release.ts";
import { readRelease, releaseService } from "#worker/release.ts";
import { createRestateAdmin } from "#worker/restate-admin.ts";
import { watchVersions } from "#worker/version-watch.ts";
import type { WedgedInvocation, WedgedReader } from "#worker/wedged.ts";
import type { Base } from "./base.ts";
import { duties, watchedServices } from "./duties.ts";

export type VersionParts = {
  adminUrl: string;
  ingressUrl: string;
  revision: string;
};

/** Most wedged invocations that one poll releases; the next poll finds the others. */
const mostAtOnce = 500;

export function startVersionWatch(
  { log }: Base,
  parts: VersionParts,
): { stop: () => Promise<void> } {
  const { adminUrl, revision } = parts;
  return watchVersions({
    admin: createRestateAdmin(adminUrl),
    revision,
    services: [...rolloutServices, ...watchedServices],
    log,
    release: async (wedged, reader) => {
      const isOfRollout = ({ service }: WedgedInvocation) => rolloutServices.includes(service);
      const found = { reader, parts };
      const others = wedged.filter((call) => !isOfRollout(call)).slice(0, mostAtOnce);
      await Promise.all([
        releaseRollout(wedged.filter(isOfRollout), found),
        releaseOthers(others, found),
      ]);
    },
  });
}

type ReleaseSource = { reader: WedgedReader; parts: VersionParts };

async function releaseRollout(
  wedged: WedgedInvocation[],
  { reader, parts }: ReleaseSource,
): Promise<void> {
  if (wedged.length === 0) return;
  const again = wedged.filter(isResent).map(({ id }) => id);
  const { inputs } = await reader.journals(again);
  const calls = wedged.map((call) => withInput(call, inputs.get(call.id)));
  const address = `${parts.ingressUrl}/${rolloutRelease.name}/release`;
  await callRestate(address, { revision: parts.revision, wedged: calls });
}

async function releaseOthers(
  wedged: WedgedInvocation[],
  { reader, parts }: ReleaseSource,
): Promise<void> {
  if (wedged.length === 0) return;
  const order = await readRelease(wedged, { reader, duties });
  await callRestate(`${parts.ingressUrl}/${releaseService.name}/release`, order);
}

function withInput(call: WedgedInvocation, payload: Buffer | undefined) {
  const { id, service, key, handler, parent, revision } = call;
  const input = payload === undefined ? {} : { input: JSON.parse(payload.toString()) };
  return { id, service, key, handler, parent, revision, ...input };
}
