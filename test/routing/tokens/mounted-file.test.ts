import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import {
  readSecret,
  readText,
  restoreSecret,
  restoreText,
  writeSecret,
  writeText,
} from "#routing/tokens/mounted-file.ts";
import { tempDir } from "../../support/temp-dir.ts";

it("the writer of secrets writes the secret alone, readable by its owner only, and leaves no draft behind", () => {
  const directory = tempDir();
  const file = path.join(directory, "token");

  writeSecret(file, "new-token");

  expect(readFileSync(file, "utf8")).toBe("new-token");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(["token"]);
});

it("the writer of secrets closes a file that was open to others", () => {
  const file = path.join(tempDir(), "token");
  writeFileSync(file, "old-token");
  chmodSync(file, 0o644);

  writeSecret(file, "new-token");

  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("replaces what a link points to, not the link", () => {
  const directory = tempDir();
  mkdirSync(path.join(directory, "v1"));
  writeFileSync(path.join(directory, "v1/token"), "old-token");
  symlinkSync("v1/token", path.join(directory, "token"));

  writeSecret(path.join(directory, "token"), "new-token");

  expect(lstatSync(path.join(directory, "token")).isSymbolicLink()).toBe(true);
  expect(readFileSync(path.join(directory, "v1/token"), "utf8")).toBe("new-token");
});

it("the writer of secrets does not write through a draft that someone left as a link", () => {
  const directory = tempDir();
  const file = path.join(directory, "token");
  const stranger = path.join(directory, "stranger");
  writeFileSync(stranger, "untouched");
  symlinkSync(stranger, `${file}.${process.pid}.new`);

  writeSecret(file, "new-token");

  expect(readFileSync(stranger, "utf8")).toBe("untouched");
});

it.runIf(process.getuid?.() === 0)("leaves the file to the user that it belonged to", async () => {
  const { chownSync } = await import("node:fs");
  const file = path.join(tempDir(), "token");
  writeFileSync(file, "old-token");
  chownSync(file, 65_534, 65_534);

  writeSecret(file, "new-token");

  expect(statSync(file)).toMatchObject({ uid: 65_534, gid: 65_534 });
});

it("a secret is read without the line end of an editor, and null where there is none", () => {
  const file = path.join(tempDir(), "token");
  writeFileSync(file, "old-token\n");

  expect(readSecret(file)).toBe("old-token");
  expect(readSecret(`${file}.none`)).toBeNull();
});

it("restores a file that was not there to not being there", () => {
  const file = path.join(tempDir(), "token");
  writeSecret(file, "new-token");

  restoreSecret(file, null);

  expect(existsSync(file)).toBe(false);
});

it("the writer of secrets says what to do when the directory is not there", () => {
  const file = path.join(tempDir(), "none", "token");

  expect(() => writeSecret(file, "new-token")).toThrow(
    `cannot write ${file}: its directory ${path.dirname(file)} does not exist; make it first`,
  );
});

it("the writer of secrets says so when it is given a directory", () => {
  const directory = tempDir();

  expect(() => writeSecret(directory, "new-token")).toThrow(`${directory} is no file`);
  expect(() => readSecret(directory)).toThrow(`cannot read ${directory}`);
});

it("the writer of secrets keeps the mode of settings, and makes new ones readable by everyone", () => {
  const directory = tempDir();
  const old = path.join(directory, "old.yml");
  writeFileSync(old, "a: 1\n");
  chmodSync(old, 0o640);

  writeText(old, "a: 2\n");
  writeText(path.join(directory, "new.yml"), "a: 2\n");

  expect(statSync(old).mode & 0o777).toBe(0o640);
  expect(statSync(path.join(directory, "new.yml")).mode & 0o777).toBe(0o644);
});

it("the writer of secrets puts settings back to the byte", () => {
  const file = path.join(tempDir(), "am.yml");
  writeFileSync(file, "a: 1 \n\n");
  const previous = readText(file);
  writeText(file, "a: 2\n");

  restoreText(file, previous);

  expect(readFileSync(file, "utf8")).toBe("a: 1 \n\n");
});
