import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKeyRing } from "#api/keys/key-ring.ts";
import { resealKeys } from "#api/operator/key-upkeep.ts";
import { startTestApi, type TestApi } from "../../support/api.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
}, 60_000);

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
  expect(resealed).toBe(2);
  expect(rows.map((row) => after.open(row, row.id))).toEqual([
    "secret of key_a",
    "secret of key_b",
  ]);
});
