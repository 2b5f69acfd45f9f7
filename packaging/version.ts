/**
 * Writes the version of package.json wherever else it is named: image, chart, manifests, documents. npm runs this after
 * `npm version <version> --no-git-tag-version`, which writes package.json and package-lock.json.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What may name the version, from the root of the repository. */
const patterns = [
  ...["Dockerfile", "README.md", "deploy/chart/Chart.yaml", "deploy/kubernetes/vedette.yaml"],
  ...["docs/*.md", "examples/*/*"],
];

/** What stands before the version: of a package, an image, a tag, a chart, a label. */
const named =
  /(vedette[-:]|vedette@v|vedette, tag: |^version: |^appVersion: "|kubernetes\.io\/version: "|image\.version=)\d+\.\d+\.\d+(?![\d.]*\d)/gm;

/** The text with this version in each of these places. */
export function putVersion(text: string, version: string): string {
  return text.replace(named, (_place, before: string) => before + version);
}

export function hasVersion(text: string): boolean {
  return text.search(named) !== -1;
}

export function readVersion(root: string): string {
  const text = readFileSync(path.join(root, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** The files that name a version, from the root; `text` with the version that it has now. */
export function versionedFiles(root: string): { file: string; text: string }[] {
  return globSync(patterns, { cwd: root })
    .sort()
    .map((file) => ({ file, text: readFileSync(path.join(root, file), "utf8") }))
    .filter(({ text }) => hasVersion(text));
}

/** Those that name another version than package.json. */
export function findStale(root: string): { file: string; text: string }[] {
  const version = readVersion(root);
  return versionedFiles(root).filter(({ text }) => putVersion(text, version) !== text);
}

if (import.meta.main) {
  const root = process.cwd();
  for (const { file, text } of findStale(root)) {
    writeFileSync(path.join(root, file), putVersion(text, readVersion(root)));
    process.stdout.write(`${file}: ${readVersion(root)}\n`);
  }
}
