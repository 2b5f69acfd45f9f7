import { rmSync } from "node:fs";
import path from "node:path";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { identifyProcess } from "#kernel/owned-process.ts";
import { readIfThere } from "#kernel/read-if-there.ts";
import type { Endpoints } from "./contract.ts";

/** Writes `<dataDir>/endpoints.json`; the returned function removes it, unless another program replaced it. */
export function publishEndpoints(dataDir: string, endpoints: Endpoints): () => void {
  const file = path.join(dataDir, "endpoints.json");
  const own = `${JSON.stringify({ ...endpoints, process: identifyProcess(process.pid) }, null, 2)}\n`;
  writeFileAtomically(file, own);
  return () => {
    if (readIfThere(file) === own) rmSync(file, { force: true });
  };
}
