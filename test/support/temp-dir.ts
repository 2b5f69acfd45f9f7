import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A new private directory, for as long as `remove` is not called. */
export function makeTempDir(): { path: string; remove: () => void } {
  const directory = mkdtempSync(path.join(tmpdir(), "vedette-test-"));
  return { path: directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A new private directory, for the test that asks for it. */
export function tempDir(): string {
  const directory = makeTempDir();
  onTestFinished(directory.remove);
  return directory.path;
}
