import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { resealKeys } from "#api/operator/reseal.ts";
import { createCertificateStore } from "#api/tls/certificate-store.ts";
import { inTransaction } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startTestApi, type TestApi } from "../../../support/api/api.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

const entry = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

it("seals every recoverable key by the new key, so that the old one can be taken away", async () => {
  const { id: workspaceId } = await api.createWorkspace();
  const [old, next] = [entry("2025"), entry("2026")];
  const before = createKeyRing([old]);
  await api.database.query("INSERT INTO key_spaces (id, workspace_id) VALUES ('ks_1', $1)", [
    workspaceId,
  ]);
  for (const id of ["key_a", "key_b"]) {
    await api.database.query(
      `INSERT INTO keys (id, workspace_id, key_space_id, hash, start) VALUES ($1, $2, 'ks_1', $1, '')`,
      [id, workspaceId],
    );
    const { encryptionKeyId, sealed } = before.seal(`secret of ${id}`, id);
    await api.database.query("INSERT INTO encrypted_keys VALUES ($1, $2, $3, $4)", [
      id,
      workspaceId,
      encryptionKeyId,
      sealed,
    ]);
  }

  const resealed = await resealKeys(api.database, createKeyRing([next, old]));

  const { rows } = await api.database.query(
    `SELECT key_id AS id, encryption_key_id AS "encryptionKeyId", sealed FROM encrypted_keys ORDER BY 1`,
  );
  const after = createKeyRing([next]);
  expect(resealed).toEqual({ resealed: 2, unopened: 0 });
  expect(rows.map((row) => after.open(row, row.id))).toEqual([
    "secret of key_a",
    "secret of key_b",
  ]);
});

it("seals certificates and accounts of authorities as well", async () => {
  const [old, next] = [entry("2025"), entry("2026")];
  const { database } = api;
  const log = createLog({ level: "silent", format: "json" });
  const storeOf = (...keys: string[]) =>
    createCertificateStore({ database, log, keyRing: createKeyRing(keys) });
  const certificate = { chain: "chain", privateKey: "private", issuedMs: 1_000, expiresMs: 2_000 };
  await storeOf(old).write(["b.test", "a.test"], certificate);
  await storeOf(old).writeAccount("https://acme.test", "account");

  const resealed = await resealKeys(database, createKeyRing([next, old]));

  expect(resealed).toEqual({ resealed: 2, unopened: 0 });
  expect(await storeOf(next).read(["a.test", "b.test"])).toEqual(certificate);
  expect(await storeOf(next).readAccount("https://acme.test")).toBe("account");
});

it("leaves what no key opens, and seals the rest all the same", async () => {
  const [lost, old, next] = [entry("a"), entry("b"), entry("c")];
  const { database } = api;
  const seal = (ring: string, url: string) =>
    createCertificateStore({
      database,
      log: createLog({ level: "silent", format: "json" }),
      keyRing: createKeyRing([ring]),
    }).writeAccount(url, "account");
  await database.query("TRUNCATE encrypted_keys, certificates, acme_accounts");
  await seal(lost, "https://1.test");
  await seal(old, "https://2.test");

  const answer = await resealKeys(database, createKeyRing([next, old]));

  const { rows } = await database.query(
    "SELECT encryption_key_id AS id FROM acme_accounts ORDER BY directory_url",
  );
  expect(answer).toEqual({ resealed: 1, unopened: 1 });
  expect(rows).toEqual([{ id: "a" }, { id: "c" }]);
});

it("says so when rows stay locked, and seals them once they are free", async () => {
  const [old, next] = [entry("a"), entry("b")];
  const { database } = api;
  const log = createLog({ level: "silent", format: "json" });
  const ring = createKeyRing([next, old]);
  await database.query("TRUNCATE encrypted_keys, certificates, acme_accounts");
  const store = createCertificateStore({ database, log, keyRing: createKeyRing([old]) });
  await store.writeAccount("https://1.test", "account");

  await inTransaction(database, async (transaction) => {
    await transaction.query("SELECT 1 FROM acme_accounts FOR UPDATE");
    await expect(resealKeys(database, ring, 0)).rejects.toThrow("rows of acme_accounts are locked");
  });

  expect(await resealKeys(database, ring)).toEqual({ resealed: 1, unopened: 0 });
});
