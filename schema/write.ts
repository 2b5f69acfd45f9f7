/**
 * Writes `vedette.config.schema.json`, `rollout-proof.schema.json` and the table of docs/settings.md anew: `node schema/write.ts`, after a change of
 * the schemas of rows or settings.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { definitionsSchema } from "#definitions/schema.ts";
import { ProofStatement } from "#rollout/proof/contract.ts";
import { withSettingsTable } from "./settings-table.ts";

const file = new URL("vedette.config.schema.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(definitionsSchema(), null, 2)}\n`);

const proof = new URL("rollout-proof.schema.json", import.meta.url);
writeFileSync(proof, `${JSON.stringify(z.toJSONSchema(ProofStatement), null, 2)}\n`);

const page = new URL("../docs/settings.md", import.meta.url);
writeFileSync(page, withSettingsTable(readFileSync(page, "utf8")));
