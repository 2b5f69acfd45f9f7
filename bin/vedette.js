#!/usr/bin/env node
// Not by name: an old Node, which is refused below, has no `enableCompileCache`.
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import { complainOfNode } from "./node-version.js";

const complaint = complainOfNode();
if (complaint !== undefined) {
  process.stderr.write(complaint);
  process.exit(1);
}

// Compiling takes half of a start, so compiled code is cached beside the source, where it is as trustworthy as
// that. Without write permission there is no cache. Set for child processes, too; before anything else is
// imported, which would not be cached.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("../node_modules/.cache/vedette", import.meta.url),
);
module.enableCompileCache();

// In the repository the source, in the npm package what was compiled of it.
await import("#main.ts");
