import { createRequire } from "node:module";

/** Whether the library of the embedded engine is installed; it is optional. Whether it can be loaded is not known. */
export function isEngineInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve("chdb");
    return true;
  } catch {
    return false;
  }
}
