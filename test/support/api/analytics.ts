/** The real store of analytics, embedded, in a directory of its own. */
import { openEngine } from "#api/analytics/engine/engine.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { createLog } from "#kernel/log.ts";
import { makeTempDir } from "../temp-dir.ts";

export type TestAnalytics = Awaited<ReturnType<typeof startTestAnalytics>>;

export async function startTestAnalytics() {
  const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });
  const dir = makeTempDir();
  const retention = retentionFrom(30);
  const store = openEngine({ url: "", dataDir: dir.path, retention, log });
  await store.settled();
  const stop = async () => {
    await store.close();
    dir.remove();
  };
  return { store, retention, stop };
}
