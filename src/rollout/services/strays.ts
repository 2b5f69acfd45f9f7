/** Finds sentinels that took the image of a rollout and do not run it well any more. */
import type { FleetMember, ReasonCode } from "#fleet/contract.ts";
import { compareImages } from "#kernel/image-reference.ts";
import type { Fleets } from "#rollout/fleets.ts";
import type { Stray } from "#rollout/rules/second-try.ts";

type Rollout = { fleet: string; rolloutId: string; image: string };

/** Reads the fleet now; 1,000 sentinels at most. Throws when the fleet or the database does not answer. */
export type ReadStrays = (rollout: Rollout) => Promise<Stray[]>;

type Parts = {
  fleets: Fleets;
  /** The sentinels whose deploy has succeeded in this rollout. */
  readSucceeded: (rolloutId: string) => Promise<string[]>;
};

const limit = 1_000;

export function createReadStrays({ fleets, readSucceeded }: Parts): ReadStrays {
  return async ({ fleet, rolloutId, image }) => {
    const members = await fleets.get(fleet).listFleet();
    const listed = new Map(members.map((member) => [member.id, member]));
    return (await readSucceeded(rolloutId))
      .flatMap((id) => toStray(id, listed.get(id), image))
      .slice(0, limit);
  };
}

/** A running image that is not known, or only by another part of its name, is no reason to call the sentinel astray. */
function toStray(id: string, member: FleetMember | undefined, image: string): Stray[] {
  // The list may be wrong, or the sentinel was taken away: that says nothing about the image.
  if (member === undefined) return [{ id, reason: gone, ofFleet: true }];
  const { running_image, health } = member;
  if (running_image !== "" && compareImages(running_image, image) === "other") {
    const serves = health === "unhealthy" ? "" : running_image;
    return [{ id, reason: `reverted: it runs ${running_image} now`, serves }];
  }
  return health === "unhealthy" ? [{ id, reason: unhealthy, serves: "" }] : [];
}

const gone = `${"target_gone" satisfies ReasonCode}: the fleet does not list it any more`;
const unhealthy = `${"probe_failing" satisfies ReasonCode}: it turned unhealthy`;
