/** What carries out the Dockerfile without an engine: it refuses what it does not do as an engine would. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { admitted, runDockerfile } from "../../support/servers/dockerfile.ts";
import { tempDir } from "../../support/temp-dir.ts";

function run(...steps: string[]) {
  const dir = tempDir();
  const file = path.join(dir, "Dockerfile");
  writeFileSync(file, ["FROM node:26-slim", "WORKDIR /app", ...steps, ""].join("\n"));
  return runDockerfile(file, dir);
}

it("copies what .dockerignore lets in, and runs in the folder", async () => {
  const { workdir } = await run(
    "COPY package.json .npmrc ./",
    "RUN cp package.json /app/again.json",
  );

  expect(existsSync(path.join(workdir, ".npmrc"))).toBe(true);
  expect(readFileSync(path.join(workdir, "again.json"))).toEqual(readFileSync("package.json"));
});

it("has nothing to copy that .dockerignore keeps out", async () => {
  await expect(run("COPY README.md ./")).rejects.toThrow("README.md");
});

it("fails with a step that fails", async () => {
  await expect(run("RUN false && true")).rejects.toThrow("false && true");
});

it.each([
  ["ADD package.json ./", "ADD"],
  ["COPY --chown=node package.json ./", "--chown=node"],
  ["COPY *.json ./", "*.json"],
])("refuses %s, which it does not know", async (step, words) => {
  await expect(run(step)).rejects.toThrow(words);
});

it.each(["node_modules\n", "*\n!src/**/*.ts\n", "*\nsrc\n"])(
  "refuses .dockerignore of %j",
  (text) => {
    expect(() => admitted(text)).toThrow(".dockerignore");
  },
);
