/** npm runs this before it packs: compiles the program, builds the console's page, puts package.json in place. */
import { fileURLToPath } from "node:url";
import { buildConsole } from "../src/console/build.ts";
import { compile } from "./compile.ts";
import { entryPoints } from "./manifest.ts";
import { putPackageManifest, restoreManifest } from "./swap.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// Before anything of it is read: an interrupted pack may have left that of the package, whose `#` is another.
restoreManifest(root);
await buildConsole();
compile({ root, exported: Object.values(entryPoints) });
putPackageManifest(root);
