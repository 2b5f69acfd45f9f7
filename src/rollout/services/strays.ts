/** Finds sentinels that took the image of a rollout and do not run it well any more. */
import type { FleetMember } from "#fleet/contract.ts";
import type { SentinelReason } from "#rollout/contract.ts";
import type { ListFleet } from "./capture.ts";

type Rollout = { rolloutId: string; image: string };

/** Asks the fleet now; 1,000 sentinels at most. Throws when the fleet or the database does not answer. */
export type ReadStrays = (rollout: Rollout) => Promise<SentinelReason[]>;

type Parts = {
  listFleet: ListFleet;
  /** The sentinels whose deploy has succeeded in this rollout. */
  readSucceeded: (rolloutId: string) => Promise<string[]>;
};

const limit = 1_000;

export function createReadStrays({ listFleet, readSucceeded }: Parts): ReadStrays {
  return async ({ rolloutId, image }) => {
    const fleet = await listFleet();
    const succeeded = new Set(await readSucceeded(rolloutId));
    return fleet
      .filter(({ id }) => succeeded.has(id))
      .flatMap((member) => toStray(member, image))
      .slice(0, limit);
  };
}

/** A running image that is not known is no reason to call the sentinel astray. */
function toStray({ id, running_image, health }: FleetMember, image: string): SentinelReason[] {
  if (running_image !== "" && !isSame(running_image, image)) {
    return [{ id, reason: `reverted: it runs ${running_image} again` }];
  }
  return health === "unhealthy" ? [{ id, reason: "probe_failing: it turned unhealthy" }] : [];
}

/** A fleet may list an image without the digest to which it was pinned. */
function isSame(one: string, other: string): boolean {
  const [name, digest] = one.split("@");
  const [otherName, otherDigest] = other.split("@");
  const hasBoth = digest !== undefined && otherDigest !== undefined;
  return hasBoth ? digest === otherDigest : name === otherName;
}
