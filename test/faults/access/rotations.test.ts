/** Processes in the midst of a rotation of encryption keys: what an earlier key still seals must not be lost. */
import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { type App, startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { callProcedure } from "../../support/api/api.ts";
import { runVedette } from "../../support/program/command.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { tempDir } from "../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });
const rootKey = "a-root-key-of-the-settings";
const { url } = prepareDatabase({ isEmpty: true });

const settings = (keys: readonly string[]) => ({
  VEDETTE_DATA_DIR: tempDir(),
  DATABASE_URL: url(),
  VEDETTE_API__PORT: "0",
  VEDETTE_METRICS__PORT: "0",
  VEDETTE_ANALYTICS__ENABLED: "false",
  VEDETTE_ROOT_KEY: rootKey,
  VEDETTE_API__ENCRYPTION_KEYS: keys.join(","),
});

async function start(...keys: string[]): Promise<App> {
  const config = readConfig({ environment: settings(keys) });
  const app = await startApp(config, { roles: ["api"], log });
  onTestFinished(app.stop);
  return app;
}

async function ask(app: App, procedure: string, body: object) {
  const url = `${app.endpoints.api}/v2/${procedure}`;
  const answer = await callProcedure(url, body, rootKey);
  return { status: answer.status, data: answer.body["data"] as Record<string, string> };
}

async function makeRecoverable(app: App) {
  const { apiId } = (await ask(app, "apis.createApi", { name: "payments" })).data;
  return (await ask(app, "keys.createKey", { apiId, recoverable: true })).data["keyId"] ?? "";
}

const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

const codeOf = ({ code }: { code: number | null }) => code;

const reseal = (...keys: string[]) => runVedette(["keys", "reseal"], settings(keys));

it("a key that still seals is not taken away, also what a late process has sealed after the reseal", async () => {
  const [old, next] = [newKey("2025"), newKey("2026")];
  const late = await start(old);
  const first = await makeRecoverable(late);
  const rotated = await start(next, old);

  const early = start(next);
  await expect(early).rejects.toThrow(
    'api.encryption_keys: the key "2025" is taken away, but still seals: put it behind the others, and run `npx vedette keys reseal`',
  );
  expect(await reseal(next, old)).toMatchObject({ code: 0 });
  const second = await makeRecoverable(late);

  await expect(start(next)).rejects.toThrow('the key "2025" is taken away');
  for (const keyId of [first, second]) {
    const { data } = await ask(rotated, "keys.getKey", { keyId, decrypt: true });
    expect(data["plaintext"]).toBeTypeOf("string");
  }
  expect(await reseal(next, old)).toMatchObject({ code: 0 });
  const last = await start(next);
  const { data } = await ask(last, "keys.getKey", { keyId: second, decrypt: true });
  expect(data["plaintext"]).toBeTypeOf("string");
  const { apiId } = (await ask(late, "apis.createApi", { name: "late" })).data;
  const refused = await ask(late, "keys.createKey", { apiId, recoverable: true });
  expect(refused.status).toBe(500);
});

it("a reseal with the earlier keys alone changes nothing", async () => {
  const [old, next] = [newKey("a25"), newKey("a26")];
  expect(await runVedette(["keys", "forget-encryption-keys"], settings([old])).then(codeOf)).toBe(
    0,
  );
  const app = await start(next, old);
  const keyId = await makeRecoverable(app);

  const { code, stderr } = await reseal(old);

  expect(code).toBe(1);
  expect(stderr).toContain("no key of api.encryption_keys opens them");
  const { data } = await ask(app, "keys.getKey", { keyId, decrypt: true });
  expect(data["plaintext"]).toBeTypeOf("string");
});

it("two keys of one name, of which only one could open anything, are refused", () => {
  expect(() => createKeyRing([newKey("same"), newKey("same")])).toThrow(
    "api.encryption_keys: two have the same name",
  );
});
