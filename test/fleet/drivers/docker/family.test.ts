import { describe, expect, it } from "vitest";
import {
  familyPattern,
  isOfOneContainer,
  toFamily,
  unfinishedDeploy,
} from "#fleet/drivers/docker/family.ts";
import { buildContainer, buildMade } from "../../../support/docker/container-builders.ts";

const rolesOf = (...containers: Parameters<typeof toFamily>[1]) => {
  const { name, ...members } = toFamily("gw", containers);
  return Object.fromEntries(Object.entries(members).map(([role, one]) => [role, one.Name]));
};

describe("toFamily", () => {
  it("has the containers of a replacement by their names", () => {
    const members = rolesOf(
      buildContainer("gw"),
      buildMade("gw.next", "d2"),
      buildMade("gw.failed", "d1"),
      buildContainer("other"),
    );

    expect(members).toEqual({ current: "gw", next: "gw.next", failed: "gw.failed" });
  });

  it("has the old one that the new one replaces", () => {
    const made = buildMade("gw", "d1", { labels: { "vedette.replaces": "gw.prev-id" } });

    expect(rolesOf(made, buildContainer("gw.prev"))).toEqual({
      current: "gw",
      previous: "gw.prev",
    });
  });

  it("has the old one alone, when somebody has removed the new one", () => {
    expect(rolesOf(buildContainer("gw.prev"))).toEqual({ previous: "gw.prev" });
  });

  it.each(["gw.next", "gw.prev", "gw.failing", "gw.failed"])(
    "has none that is named %s by chance",
    (name) => {
      expect(rolesOf(buildContainer("gw"), buildContainer(name))).toEqual({ current: "gw" });
      expect(toFamily(name, [buildContainer("gw"), buildContainer(name)]).current?.Name).toBe(name);
    },
  );
});

describe("familyPattern", () => {
  it.each([
    ["gw", "/gw.next", true],
    ["gw.next", "gw", true],
    ["gw", "gw.next.prev", true],
    ["gw", "gw-2", false],
    ["g.w", "gxw", false],
  ])("of %s matches %s: %s", (sentinel, name, expected) => {
    expect(new RegExp(familyPattern(sentinel)).test(name)).toBe(expected);
  });
});

describe("unfinishedDeploy", () => {
  const stopped = { state: { Status: "exited", Running: false } };
  const replacing = { labels: { "vedette.replaces": "gw.prev-id" } };

  it.each([
    [
      "of a new one that is not in its place",
      "d1",
      [buildContainer("gw"), buildMade("gw.next", "d1")],
    ],
    [
      "of one whose old one is still there",
      "d1",
      [buildMade("gw", "d1", replacing), buildContainer("gw.prev")],
    ],
    [
      "of one that has failed, before the old one is back",
      "d1",
      [buildMade("gw.failing", "d1"), buildContainer("gw.prev")],
    ],
    [
      "none, when it is at its end",
      undefined,
      [buildMade("gw", "d1"), buildMade("gw.failed", "d0")],
    ],
    ["none, when an old one runs under another name", undefined, [buildContainer("gw.prev")]],
  ])("is that %s", (_, expected, containers) => {
    expect(unfinishedDeploy(toFamily("gw", containers))).toBe(expected);
  });

  it("is one of its own when the old one is down and nothing is in its place", () => {
    expect(unfinishedDeploy(toFamily("gw", [buildContainer("gw.prev", stopped)]))).toBe("none");
  });
});

describe("isOfOneContainer", () => {
  it.each([
    ["vedette.deploy", true],
    ["vedette.sentinel", false],
    ["vedette.region", false],
  ])("is for %s: %s", (label, expected) => {
    expect(isOfOneContainer(label)).toBe(expected);
  });
});
