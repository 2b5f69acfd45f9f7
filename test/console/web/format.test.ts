import { expect, it } from "vitest";
import { quietEnd, shortImage, splitImage, uptime } from "#console/web/format.ts";
import { when } from "#console/web/times.ts";

it.each([
  [100, 2, "100 %"],
  [99.999_95, 3, "99.999 %"],
  [99.996, 2, "99.99 %"],
  [0, 2, "0 %"],
  [null, 2, "not known yet"],
])("shows an uptime of %s with %i digits as %s", (up, digits, shown) => {
  expect(uptime(up, digits)).toBe(shown);
});

it("names no day for a mute without an end", () => {
  expect(quietEnd("9999-12-31T23:59:59.999Z")).toBe("unmuted");
  expect(quietEnd("2026-11-22T12:00:00.000Z")).toBe(when("2026-11-22T12:00:00.000Z"));
});

const hexDigits = "b".repeat(64);

it.each([
  ["registry.example.com:5000/team/gateway:v2", "gateway:v2"],
  [`registry.example.com:5000/team/gateway@sha256:${hexDigits}`, "gateway@sha256:bbbbbbbbbbbb"],
  [`gateway:v2@sha256:${hexDigits}`, "gateway:v2@sha256:bbbbbbbbbbbb"],
  ["registry.example.com/gateway", "gateway:latest"],
  [`sha256:${hexDigits}`, "sha256:bbbbbbbbbbbb"],
])("shortens the image %s to %s", (image, short) => {
  expect(shortImage(image)).toBe(short);
});

it("splits an image into its place, its name and what differs between releases", () => {
  expect(splitImage(`registry.example.com:5000/team/gateway@sha256:${hexDigits}`)).toEqual({
    place: "registry.example.com:5000/team/",
    name: "gateway",
    version: "@sha256:bbbbbbbbbbbb",
  });
});
