import { describe, expect, it } from "vitest";
import type { FleetMember } from "#fleet/contract.ts";
import { createFleets } from "#rollout/fleets.ts";
import { createReadStrays } from "#rollout/services/poll.ts";
import { aFleet } from "../../support/rollout/rollout-fleets.ts";

const digest = (letter: string) => `@sha256:${letter.repeat(64)}`;
const v1 = "registry.example.com/vedette/sentinel:v1";
const v2 = "registry.example.com/vedette/sentinel:v2";

const fleetsOf = (members: FleetMember[]) =>
  createFleets([aFleet({ listFleet: async () => members })]);

const straysOf = (image: string, listed: Partial<FleetMember>) => {
  const member: FleetMember = {
    id: "a",
    region: "eu",
    image,
    running_image: image,
    health: "healthy",
    ...listed,
  };
  const untouched = { ...member, id: "b", running_image: v1, health: "unhealthy" as const };
  const parts = {
    fleets: fleetsOf([member, untouched]),
    readSucceeded: async () => ["a"],
  };
  return createReadStrays(parts)({ fleet: "singleton", rolloutId: "r", image });
};

describe("a sentinel that took the image", () => {
  it.each([
    ["runs it", v2, v2],
    ["is listed without the digest", `${v2}${digest("a")}`, v2],
    ["is listed by another name of the same digest", `${v2}${digest("a")}`, `${v1}${digest("a")}`],
    ["is listed without an image", v2, ""],
    [
      "is listed by its digest alone, and was ordered by its tag",
      v2,
      v2.replace(":v2", digest("a")),
    ],
    ["is listed by the id that an engine has for it", v2, digest("a").slice(1)],
  ])("is no stray when it %s", async (_, image, running_image) => {
    expect(await straysOf(image, { running_image })).toEqual([]);
  });

  it.each([
    ["runs another tag", v2, v1],
    ["runs another digest of the tag", `${v2}${digest("a")}`, `${v2}${digest("b")}`],
  ])("is one when it %s", async (_, image, running_image) => {
    expect(await straysOf(image, { running_image })).toEqual([
      { id: "a", reason: `reverted: it runs ${running_image} now`, serves: running_image },
    ]);
  });

  it("is one when it is unhealthy, and not when its health is unknown", async () => {
    expect(await straysOf(v2, { health: "unhealthy" })).toMatchObject([{ id: "a" }]);
    expect(await straysOf(v2, { health: "unknown" })).toEqual([]);
  });

  it("is one of the fleet when it is not listed any more", async () => {
    const parts = { fleets: fleetsOf([]), readSucceeded: async () => ["a"] };

    expect(
      await createReadStrays(parts)({ fleet: "singleton", rolloutId: "r", image: v2 }),
    ).toEqual([{ id: "a", reason: expect.stringContaining("target_gone"), ofFleet: true }]);
  });
});
