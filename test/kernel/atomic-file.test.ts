import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { writeFileAtomically } from "#kernel/files.ts";
import { tempDir } from "../support/temp-dir.ts";

const module = fileURLToPath(new URL("../../src/kernel/files.ts", import.meta.url));

it("replaces a file by one that only its owner may read", () => {
  const file = path.join(tempDir(), "credentials.json");
  writeFileSync(file, "before", { mode: 0o644 });

  writeFileAtomically(file, "after");

  expect(readFileSync(file, "utf8")).toBe("after");
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** Limits files to 4 KiB: a longer write stops there, as on a full disk. */
const almostFull = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";

it("keeps the old file, and no draft, when the disk has room for a part of the new one only", () => {
  const directory = tempDir();
  const file = path.join(directory, "credentials.json");
  writeFileSync(file, "before");
  const program = `
    const { writeFileAtomically } = await import(${JSON.stringify(module)});
    writeFileAtomically(${JSON.stringify(file)}, "x".repeat(6_000));`;

  const command = [process.execPath, "--input-type=module", "--eval", program];
  const { status } = spawnSync("sh", ["-c", almostFull, "sh", ...command]);

  expect(status).toBe(1);
  expect(readFileSync(file, "utf8")).toBe("before");
  expect(readdirSync(directory)).toEqual(["credentials.json"]);
});
