/** npm runs this after it has packed: the checkout is as it was before. */
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { restoreManifest } from "./swap.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
restoreManifest(root);
rmSync(new URL("../lib", import.meta.url), { recursive: true, force: true });
