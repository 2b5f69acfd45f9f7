import { rmSync } from "node:fs";
import path from "node:path";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { identifyProcess } from "#kernel/owned-process.ts";
import { readIfThere } from "#kernel/read-if-there.ts";
import type { Endpoints } from "./contract.ts";

/** Writes `<dataDir>/endpoints.json`; the answer removes it again, unless another program has written its own. */
export function publishEndpoints(dataDir: string, endpoints: Endpoints): () => void {
  const file = path.join(dataDir, "endpoints.json");
  const own = `${JSON.stringify({ ...endpoints, process: identifyProcess(process.pid) }, null, 2)}\n`;
  writeFileAtomically(file, own);
  return () => {
    if (readIfThere(file) === own) rmSync(file, { force: true });
  };
}
