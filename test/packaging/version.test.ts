/** The version of package.json, and every other place that names it. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readVersion as readProgramVersion } from "#kernel/process.ts";
import { findStale, putVersion, readVersion, versionedFiles } from "../../packaging/version.ts";

const version = readVersion(".");

it("image, chart, manifests and documents name the version of package.json", () => {
  expect(findStale(".").map(({ file }) => file)).toEqual([]);
});

it("`vedette --version` prints the version of package.json", () => {
  expect(readProgramVersion()).toBe(version);
});

it("package-lock.json has the version of package.json", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    version: string;
    packages: Record<string, { version: string }>;
  };

  expect([lock.version, lock.packages[""]?.version]).toEqual([version, version]);
});

it("each file that has to name the version is found to name it", () => {
  const files = versionedFiles(".").map(({ file }) => file);

  expect(files).toEqual(
    expect.arrayContaining([
      ...["Dockerfile", "README.md", "deploy/chart/Chart.yaml", "deploy/kubernetes/vedette.yaml"],
      ...["docs/ci.md", "docs/kubernetes.md", "docs/tutorial.md"],
      "examples/ci-pipeline/rollout.yml",
    ]),
  );
});

it.each([
  ["npm install ../vedette-0.1.0.tgz", "npm install ../vedette-1.2.3.tgz"],
  ["team/vedette:0.1.0 .", "team/vedette:1.2.3 ."],
  ["uses: your-org/vedette@v0.1.0", "uses: your-org/vedette@v1.2.3"],
  ["team/vedette, tag: 0.1.0 }", "team/vedette, tag: 1.2.3 }"],
  ['version: 0.1.0\nappVersion: "0.1.0"', 'version: 1.2.3\nappVersion: "1.2.3"'],
  ['kubernetes.io/version: "0.1.0"', 'kubernetes.io/version: "1.2.3"'],
  ["LABEL org.opencontainers.image.version=0.1.0", "LABEL org.opencontainers.image.version=1.2.3"],
])("the version is written into %j", (text, expected) => {
  expect(putVersion(text, "1.2.3")).toBe(expected);
});

it.each([
  "postgres:18.6",
  "node:26.10.0-slim",
  "apiVersion: v1",
  "  version: 0.1.0",
  "Node 22.18.0",
])("the version is not written into %j", (text) => {
  expect(putVersion(text, "1.2.3")).toBe(text);
});
