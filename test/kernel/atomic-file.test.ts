import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { tempDir } from "../support/temp-dir.ts";

const module = fileURLToPath(new URL("../../src/kernel/atomic-file.ts", import.meta.url));

it("writes a file for its owner only, in the place of the one before", () => {
  const file = path.join(tempDir(), "credentials.json");
  writeFileSync(file, "before", { mode: 0o644 });

  writeFileAtomically(file, "after");

  expect(readFileSync(file, "utf8")).toBe("after");
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** Where a file may have 4 KiB and not one byte more: so far a write goes, as on a disk that fills up. */
const almostFull = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";

it("keeps the file before, and nothing else, where there is room for a part of the new one", () => {
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
