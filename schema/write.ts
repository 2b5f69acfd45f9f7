/** Writes `vedette.config.schema.json` anew: `node schema/write.ts`, after a change of the rows' schemas. */
import { writeFileSync } from "node:fs";
import { definitionsSchema } from "#definitions/schema.ts";

const file = new URL("vedette.config.schema.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(definitionsSchema(), null, 2)}\n`);
