/** Copies of the program in which a step is another one, as in another version. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** One change of the program: in this file of `src`, this text is replaced by that. */
export type Edit = { file: string; from: string; to: string };

export const ownTree = fileURLToPath(new URL("../../../", import.meta.url));

let trees = 0;

/** Returns the folder of a new copy, below `parent`. */
export function copyEdited(parent: string, edits: readonly Edit[]): string {
  const tree = path.join(parent, `tree-${++trees}`);
  for (const entry of ["src", "migrations", "package.json", "tsconfig.json"]) {
    cpSync(path.join(ownTree, entry), path.join(tree, entry), { recursive: true });
  }
  symlinkSync(path.join(ownTree, "node_modules"), path.join(tree, "node_modules"));
  for (const { file, from, to } of edits) {
    const edited = path.join(tree, "src", file);
    const source = readFileSync(edited, "utf8");
    if (source.split(from).length !== 2) throw new Error(`not once in ${file}: ${from}`);
    writeFileSync(edited, source.replace(from, to));
  }
  return tree;
}
