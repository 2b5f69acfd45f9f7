import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/support/run/longest-first.ts";

/** What is deprecated fails: a warning in the midst of so much output is read by nobody. */
const setupFiles = ["test/support/run/fail-on-deprecation.ts"];

const sharedPostgres = "test/support/run/shared-postgres.ts";

/** As bin/vedette.js sets it: child processes start faster. */
const env = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/vedette", import.meta.url)),
};

/** For tests with real servers. */
const serving = {
  setupFiles,
  env,
  // Only what hangs ends here: a busy machine may be several times slower than a calm one.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  // A fresh machine that stands still for seconds must not refuse a release: what fails then
  // passes the second time, and vitest says "retry x1" beside its name. What is wrong fails
  // twice. Sweeps that look for what goes wrong once in many times say `retry: 0` themselves.
  retry: 1,
};

/** Most of their time these wait for servers: two cores carry five files, which share what they import. */
const shared = { ...serving, maxWorkers: 5, isolate: false, globalSetup: [sharedPostgres] };

export default defineConfig({
  test: {
    reporters: [
      "default",
      "./test/support/run/tell-retried.ts",
      "./test/support/run/tell-unlisted.ts",
    ],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/{integration,faults,sweeps,clients}/**"],
          setupFiles,
          // What they import is read once and not by each file: half of their time. They share no state.
          isolate: false,
          // Only what hangs ends here, as above.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          ...shared,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
        },
      },
      {
        // What takes long because it tries much: models, kills at every step, random histories.
        test: {
          ...serving,
          name: "sweeps",
          // They kill what they start and wait for it: two files leave half of two cores idle.
          maxWorkers: 3,
          include: ["test/sweeps/**/*.test.ts"],
          globalSetup: [sharedPostgres],
        },
      },
      {
        // What a kill, an outage, a second process or a hostile peer does: with the sweeps, as it takes long.
        test: {
          ...shared,
          name: "faults",
          include: ["test/faults/**/*.test.ts"],
          sequence: { groupOrder: 1 },
        },
      },
      {
        // The handlers of these once more, with every step replayed: `test/support/replay.ts`.
        test: {
          ...shared,
          name: "replay",
          include: [
            "test/integration/rollout/{ci,operations}.test.ts",
            "test/integration/rollout/{choice,conditions,desired}/*.test.ts",
            "test/integration/monitor/check/{actors,api-check}.test.ts",
            "test/integration/monitor/{drills/run,heartbeat/heartbeat}.test.ts",
          ],
          env: { ...env, TEST_REPLAY: "always" },
          // After the sweeps, which have another number of workers.
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Its packages are its own: `npm run test:clients` installs them first.
        test: { ...serving, name: "clients", include: ["test/clients/*.test.ts"] },
      },
    ],
  },
});
