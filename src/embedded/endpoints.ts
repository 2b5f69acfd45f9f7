import { rmSync } from "node:fs";
import path from "node:path";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import type { Endpoints } from "./contract.ts";

/** Writes `<dataDir>/endpoints.json`; the answer removes it again. */
export function publishEndpoints(dataDir: string, endpoints: Endpoints): () => void {
  const file = path.join(dataDir, "endpoints.json");
  writeFileAtomically(file, `${JSON.stringify(endpoints, null, 2)}\n`);
  return () => rmSync(file, { force: true });
}
