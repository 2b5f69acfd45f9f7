import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";

/** `build`: changes with every file of the page, whose names in it are hashes of their content. */
export type BuiltPage = { html: string; build: string };

/** Reads the built page of a folder; its head says which build it is, so that an open page knows it of itself. */
export function readBuiltPage(dir: string): BuiltPage {
  const built = readFileSync(path.join(dir, "index.html"), "utf8");
  const build = createHash("sha256").update(built).digest("base64url").slice(0, 16);
  const html = built.replace("<head>", `<head>\n    <meta name="build" content="${build}" />`);
  return { html, build };
}
