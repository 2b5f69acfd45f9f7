/**
 * The links between the libraries of the embedded Postgres. npm packages cannot hold links: the package makes them
 * by a script after its installation, which npm may have been told not to run.
 */
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

/** What is missing cannot be made here. Its message says what to do. */
export class LinksMissing extends Error {}

/** Paths in the package. */
const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** Makes those that are missing in the package at this path. Throws `LinksMissing`. */
export function linkLibraries(root: string): void {
  const list = path.join(root, "native/pg-symlinks.json");
  // Not every platform's package has any.
  if (!existsSync(list)) return;
  for (const { source, target } of Links.parse(JSON.parse(readFileSync(list, "utf8")))) {
    const link = path.join(root, target);
    if (!existsSync(link)) makeLink(path.relative(path.dirname(target), source), link);
  }
}

function makeLink(to: string, link: string): void {
  try {
    symlinkSync(to, link);
  } catch (cause) {
    // Another program that starts at the same time makes them as well.
    if ((cause as NodeJS.ErrnoException).code === "EEXIST" && existsSync(link)) return;
    throw new LinksMissing(
      `the embedded Postgres is installed without its links, and ${link} cannot be made: run ` +
        "`npm rebuild --foreground-scripts` where Vedette is installed, as a user who may write there",
      { cause },
    );
  }
}
