/**
 * Sends 20,000 malformed requests to the public API, different ones each time, and counts how many answers are a
 * 5xx or violate the contract. FUZZ_COUNT: how many; FUZZ_SEED: repeats a run.
 */
import { startTestApi } from "../test/support/api/api.ts";
import { fuzzApi } from "../test/support/api/fuzz.ts";
import { countFrom } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const count = countFrom("FUZZ_COUNT", 20_000);
const seed = countFrom("FUZZ_SEED", Math.floor(Date.now() / 1_000));
const shown = 20;

startBench("fuzz");
const api = await startTestApi();
try {
  const startedAt = performance.now();
  const { sent, byStatus, faults } = await fuzzApi(api, { seed, count });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  reportTable(`Answers by status, seed ${seed}`, [byStatus]);
  reportFigure("requests", sent);
  reportFigure("duration", seconds, { unit: "s" });
  for (const fault of faults.slice(0, shown)) console.log(`\n${fault}`);
  reportFigure("answers that are a 5xx or violate the contract", faults.length, { atMost: 0 });
} finally {
  await api.stop();
}
finishBench();
