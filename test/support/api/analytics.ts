/** The real store of analytics, embedded, in a directory of its own. */
import { Engine } from "#api/analytics/engine/engine.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { createLog } from "#kernel/log.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export type TestAnalytics = Awaited<ReturnType<typeof startTestAnalytics>>;

/** Starts it by a query, which a busy machine answers late. */
export function untilReady(store: Engine) {
  const ask = () => store.query({ sql: "SELECT 1", filters: {} });
  return waitFor(ask, { withinMs: 20_000, what: "the store of analytics" });
}

export async function startTestAnalytics() {
  const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });
  const dir = makeTempDir();
  const retention = retentionFrom(30);
  const store = new Engine({ url: "", dataDir: dir.path, retention, log });
  await untilReady(store);
  const stop = async () => {
    await store.close();
    dir.remove();
  };
  return { store, retention, stop };
}
