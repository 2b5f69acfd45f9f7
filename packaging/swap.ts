/**
 * The package.json of the package takes the place of the repository's while `npm pack` reads it: npm has no other way
 * to pack another one.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Manifest, packageManifest } from "./manifest.ts";

/** Name of the repository's own file in the meantime. */
const aside = "package.source.json";

/** Puts the package's in place. One that an interrupted pack has left is no obstacle. */
export function putPackageManifest(root: string): void {
  restoreManifest(root);
  const file = path.join(root, "package.json");
  const text = readFileSync(file, "utf8");
  const manifest = packageManifest(JSON.parse(text) as Manifest);
  writeFileSync(path.join(root, aside), text);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Puts the repository's back; nothing happens when it is there. */
export function restoreManifest(root: string): void {
  const source = path.join(root, aside);
  if (existsSync(source)) renameSync(source, path.join(root, "package.json"));
}
