import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { createReadSecret } from "#kernel/secrets.ts";
import { tempDir } from "../support/temp-dir.ts";

const fileWith = (text: string, name = "secret"): string => {
  const file = path.join(tempDir(), name);
  writeFileSync(file, text);
  return file;
};

it("is that of the settings, if they have it", () => {
  const read = createReadSecret({ KEY: "of the settings", ROOT_KEY: "" }, "", {
    VEDETTE_SECRET_KEY: "of the environment",
    VEDETTE_SECRET_ROOT_KEY: "of the environment",
  });

  expect([read("KEY")?.value, read("ROOT_KEY")?.value]).toEqual([
    "of the settings",
    "of the environment",
  ]);
});

it("is in the file that the environment names, or in that of its name in the directory", () => {
  const file = fileWith("in a file\n", "TOKEN");
  const inDirectory = createReadSecret({}, path.dirname(file), {});

  expect(createReadSecret({}, "", { VEDETTE_SECRET_TOKEN_FILE: file })("TOKEN")?.value).toBe(
    "in a file",
  );
  expect(inDirectory("TOKEN")?.value).toBe("in a file");
});

it("is without the space and line ends around it, wherever it comes from", () => {
  const file = fileWith(" of a file \r\n", "OF_FILE");
  const read = createReadSecret({ KEY: "of the settings\n", ROOT_KEY: "\n" }, path.dirname(file), {
    VEDETTE_SECRET_OF_VARIABLE: " pass word \n",
    VEDETTE_SECRET_ROOT_KEY: "of the environment\n",
    VEDETTE_SECRET_EMPTY: "\n",
  });

  expect(
    ["KEY", "ROOT_KEY", "OF_VARIABLE", "OF_FILE", "EMPTY"].map((name) => read(name)?.value),
  ).toEqual(["of the settings", "of the environment", "pass word", "of a file", undefined]);
});

it("is read each time, so that a new value needs no restart", () => {
  const file = fileWith("first", "TOKEN");
  const read = createReadSecret({}, path.dirname(file), {});
  const before = read("TOKEN")?.value;

  writeFileSync(file, "second");

  expect([before, read("TOKEN")?.value]).toEqual(["first", "second"]);
});

it("is no other variable, since a check goes to another server", () => {
  expect(createReadSecret({}, "", { DATABASE_URL: "postgres://" })("DATABASE_URL")).toBeUndefined();
});

it("is not the name of the file of another", () => {
  const file = fileWith("hidden");

  expect(createReadSecret({}, "", { VEDETTE_SECRET_A_FILE: file })("A_FILE")).toBeUndefined();
});

it.each([
  ["an empty file", () => fileWith("\n")],
  ["no file", () => "/does/not/exist"],
  ["a directory", () => tempDir()],
  ["a file that is no secret for its length", () => fileWith("x".repeat(70_000))],
])("is not set by %s", (_, file) => {
  expect(createReadSecret({}, "", { VEDETTE_SECRET_A_FILE: file() })("A")).toBeUndefined();
});
