/** The errors with which `vedette start` refuses settings. */
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** A start that should end by itself; with port 0 for each part in case it does not. */
async function start(environment: Record<string, string>) {
  const dataDir = path.join(tempDir(), "data");
  const end = await runVedette(["start"], {
    VEDETTE_DATA_DIR: dataDir,
    VEDETTE_API__PORT: "0",
    VEDETTE_CONTROL__PORT: "0",
    VEDETTE_WORKER__PORT: "0",
    VEDETTE_METRICS__PORT: "0",
    VEDETTE_FLEET__PROCESS__SIZE: "1",
    ...environment,
  });
  return { ...end, dataDir };
}

it("a weak secret is refused with one line, and nothing is created", async () => {
  const { code, stdout, stderr, dataDir } = await start({ INGRESS_TOKEN: "hunter2" });

  expect(code).toBe(1);
  expect(stderr).toMatch(/^vedette: control\.ingress_token: has fewer than 8 characters.*\n$/);
  expect(stdout + stderr).not.toContain("hunter2");
  expect(existsSync(dataDir)).toBe(false);
});

it("a worker that anyone in the network could call is refused with one line that says what to set", async () => {
  const { code, stderr, dataDir } = await start({
    VEDETTE_RESTATE__INGRESS_URL: "http://127.0.0.1:9",
    VEDETTE_RESTATE__ADMIN_URL: "http://127.0.0.1:9",
    VEDETTE_WORKER__HOST: "0.0.0.0",
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(/^vedette: restate\.identity_keys: .*worker\.allow_unsigned.*\n$/);
  expect(existsSync(dataDir)).toBe(false);
});

it("a process that would keep from the others what they need is refused, with a line for each", async () => {
  const root = path.join(tempDir(), "root-key");
  writeFileSync(root, "hunter2-of-all-of-them\n");

  const { code, stdout, stderr, dataDir } = await start({
    VEDETTE_DEPLOYMENT: "distributed",
    VEDETTE_ROOT_KEY_FILE: root,
    CLICKHOUSE_URL: "http://127.0.0.1:9",
  });

  expect(code).toBe(1);
  const named = [...stderr.matchAll(/^vedette: ([a-z_.]+): .+$/gm)].map(([, setting]) => setting);
  expect(named).toEqual([
    "database.url",
    "restate.ingress_url",
    "redis.url",
    "fleet.driver",
    "worker.advertised_url",
    "monitor.base_url",
    "control.ingress_token",
    "api.encryption_keys",
  ]);
  expect(stdout + stderr).not.toContain("hunter2");
  expect(existsSync(dataDir)).toBe(false);
});
