import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { writeExport } from "#cli/write-export.ts";
import { tempDir } from "../support/temp-dir.ts";

const file = (name: string, text = name) => ({ path: name, text });

function textOf(directory: string, name: string): string | undefined {
  const whole = path.join(directory, name);
  return existsSync(whole) ? readFileSync(whole, "utf8") : undefined;
}

it("an export writes files to their paths, and creates directories", () => {
  const directory = path.join(tempDir(), "a/b");

  const written = writeExport(directory, [file("README.md"), file("rules/one.yml", "text")]);

  expect(written).toEqual(["README.md", "rules/one.yml"]);
  expect(textOf(directory, "rules/one.yml")).toBe("text");
});

it("an export removes files of an earlier export that this one does not write", () => {
  const directory = tempDir();
  writeExport(directory, [file("gone.yml"), file("stays.yml", "old")]);

  writeExport(directory, [file("stays.yml", "new")]);

  expect(textOf(directory, "gone.yml")).toBeUndefined();
  expect(textOf(directory, "stays.yml")).toBe("new");
});

it("an export does not touch other files in the directory", () => {
  const directory = tempDir();
  writeExport(directory, [file("ours.yml")]);
  writeFileSync(path.join(directory, "theirs.yml"), "theirs");

  writeExport(directory, [file("other.yml")]);

  expect(textOf(directory, "theirs.yml")).toBe("theirs");
});

it("an export never overwrites a file that is not its own, and then writes nothing", () => {
  const directory = tempDir();
  writeFileSync(path.join(directory, "theirs.yml"), "theirs");

  const write = () => writeExport(directory, [file("ours.yml"), file("theirs.yml", "ours")]);

  expect(write).toThrow(/theirs.yml exists and is not of an earlier export/);
  expect(textOf(directory, "theirs.yml")).toBe("theirs");
  expect(textOf(directory, "ours.yml")).toBeUndefined();
});

it("recognises the files of an export that was interrupted as its own", () => {
  const directory = tempDir();
  const files = [file("a.yml"), file("b.yml"), file("c.yml")];
  const broken = () => writeExport(directory, [...files, file("a.yml/impossible")]);

  expect(broken).toThrow();
  writeExport(directory, files);

  expect(textOf(directory, "c.yml")).toBe("c.yml");
});

it("an export refuses a path that is not a directory", () => {
  const name = path.join(tempDir(), "file");
  writeFileSync(name, "");

  expect(() => writeExport(name, [file("ours.yml")])).toThrow(/is not a directory/);
});

it("an export removes nothing outside of the directory, whatever the manifest says", () => {
  const parent = tempDir();
  const directory = path.join(parent, "export");
  mkdirSync(directory);
  writeFileSync(path.join(parent, "precious"), "precious");
  const files = ["../precious", path.join(parent, "precious")];
  writeFileSync(path.join(directory, ".vedette-export.json"), JSON.stringify({ files }));

  writeExport(directory, [file("ours.yml")]);

  expect(textOf(parent, "precious")).toBe("precious");
});

it("an export refuses a damaged manifest", () => {
  const directory = tempDir();
  writeFileSync(path.join(directory, ".vedette-export.json"), "{");

  expect(() => writeExport(directory, [file("ours.yml")])).toThrow(/is damaged/);
});

const manifest = ".vedette-export.json";

/** A folder of strangers with a link, and the folder of the user to which that leads, with one file. */
function hostile(link: string, to: (users: string) => string) {
  const [directory, users] = [tempDir(), tempDir()];
  writeFileSync(path.join(users, "keys"), "of the user");
  symlinkSync(to(users), path.join(directory, link));
  return { directory, users };
}

it("an export does not remove a file that a foreign list names behind a link to a folder", () => {
  const { directory, users } = hostile("rules", (folder) => folder);
  writeFileSync(path.join(directory, manifest), JSON.stringify({ files: ["rules/keys"] }));

  expect(() => writeExport(directory, [file("README.md")])).toThrow(/rules is a link/);
  expect(textOf(users, "keys")).toBe("of the user");
});

it("an export does not write into a folder that is a link", () => {
  const { directory, users } = hostile("rules", (folder) => folder);

  expect(() => writeExport(directory, [file("rules/sub/one.yml")])).toThrow(/rules is a link/);
  expect(textOf(users, "sub/one.yml")).toBeUndefined();
});

it("an export does not write through a link that leads nowhere yet", () => {
  const { directory, users } = hostile("README.md", (folder) => path.join(folder, "profile"));

  expect(() => writeExport(directory, [file("README.md")])).toThrow(/README.md exists/);
  expect(textOf(users, "profile")).toBeUndefined();
});

it("an export does not write its list through a link of a foreign draft", () => {
  const { directory, users } = hostile(`${manifest}.new`, (folder) => path.join(folder, "keys"));

  writeExport(directory, [file("README.md")]);

  expect(textOf(users, "keys")).toBe("of the user");
  expect(textOf(directory, manifest)).toContain("README.md");
});

it("an export writes into a directory that is a link itself", () => {
  const { directory, users } = hostile("out", (folder) => folder);

  writeExport(path.join(directory, "out"), [file("rules/one.yml")]);

  expect(textOf(users, "rules/one.yml")).toBe("rules/one.yml");
});
