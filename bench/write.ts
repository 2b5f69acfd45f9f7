/**
 * Writes what the files of `bench/results/` say into docs/measured.md and the pages beside them: `node bench/write.ts`,
 * after a bench.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withMeasured, withRuns } from "./page.ts";
import { readAllResults, resultsFolder } from "./results.ts";

const all = readAllResults();
const measured = path.join(import.meta.dirname, "..", "docs", "measured.md");
writeFileSync(measured, withMeasured(readFileSync(measured, "utf8"), all));
for (const [bench, results] of all) {
  const page = path.join(resultsFolder, `${bench}.md`);
  writeFileSync(page, withRuns(readFileSync(page, "utf8"), results));
}
