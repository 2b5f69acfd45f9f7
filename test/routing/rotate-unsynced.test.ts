/** A rotation on a file system that replaces files, and cannot say that it has. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { tempDir } from "../support/temp-dir.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const openSync = (...asked: Parameters<typeof fs.openSync>) => {
    if (fs.existsSync(asked[0]) && fs.statSync(asked[0]).isDirectory()) {
      throw Object.assign(new Error("no"), { code: "EACCES" });
    }
    return fs.openSync(...asked);
  };
  return { ...fs, openSync };
});

/** The files of this project share their modules: the one read here has the other file system. */
vi.resetModules();
const { rotate } = await import("#routing/tokens/rotate.ts");
afterAll(() => {
  vi.doUnmock("node:fs");
  vi.resetModules();
});

it("a rotation that cannot sync puts the old token back", async () => {
  const file = path.join(tempDir(), "token");
  writeFileSync(file, "old");

  const rotation = rotate([{ source: "synthetic", file }], {
    readToken: async () => "new",
    sendTestEvent: async () => {},
    reload: async () => {},
  });

  await expect(rotation).rejects.toThrow("the old tokens are back in place");
  expect(readFileSync(file, "utf8")).toBe("old");
});
