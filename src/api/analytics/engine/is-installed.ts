import { createRequire } from "node:module";

/** True if the library of the embedded engine, which is optional, is installed; it may still fail to load. */
export function isEngineInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve("chdb");
    return true;
  } catch {
    return false;
  }
}
