/**
 * The packages of the programs that we compare with, and of the load generator. They are installed separately,
 * in folders with a package.json of their own, so that users of Vedette don't need them.
 */
import { existsSync } from "node:fs";

/** Exits with a message that says what to do when they are not installed. */
export function requirePackages(folder: "better-auth" | "peers"): void {
  // The file that npm writes last.
  if (existsSync(new URL(`./${folder}/node_modules/.package-lock.json`, import.meta.url))) return;
  console.error(`first: npm ci --prefix bench/${folder}`);
  process.exit(1);
}

/** Loads a file of bench/peers. It is type-checked there (`npm run typecheck:bench`), and so not from here. */
export async function loadPeer<Exports>(file: string): Promise<Exports> {
  requirePackages("peers");
  return import(new URL(`./peers/${file}`, import.meta.url).href) as Promise<Exports>;
}
