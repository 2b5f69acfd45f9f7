/** Lists of what is large: pages that nobody else has to wait for, and that leave nothing out. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let workspace: { id: string; rootKey: string };

beforeAll(async () => {
  api = await startTestApi();
  workspace = await api.createWorkspace();
});

afterAll(() => api?.stop());

/** More than a page of these holds: with their commas and names. */
const pageBytes = 5 * 1024 * 1024;

async function readPages(procedure: string, body: object) {
  const pages: { ids: string[]; bytes: number }[] = [];
  let cursor: string | undefined;
  do {
    const { body: answer } = await api.call(procedure, { ...body, cursor }, workspace.rootKey);
    const data = answer.data as { id?: string; keyId?: string }[];
    pages.push({
      ids: data.map(({ id, keyId }) => id ?? keyId ?? ""),
      bytes: JSON.stringify(data).length,
    });
    cursor = answer.pagination.cursor;
  } while (cursor !== undefined);
  return pages;
}

function expectWhole(pages: { ids: string[]; bytes: number }[], ids: string[]) {
  expect(pages.length).toBeGreaterThan(1);
  expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(pageBytes);
  expect(pages.flatMap((page) => page.ids)).toEqual(ids.toSorted());
}

const largeMeta = `jsonb_build_object('large', repeat('a', 900000))`;

async function createKeys(count: number, fields: object = {}) {
  const { body } = await api.call("apis.createApi", { name: "large" }, workspace.rootKey);
  const { apiId } = body.data;
  const keyIds = [];
  for (let index = 0; index < count; index += 1) {
    const made = await api.call("keys.createKey", { apiId, ...fields }, workspace.rootKey);
    keyIds.push(made.body.data.keyId as string);
  }
  return { apiId, keyIds };
}

it("lists keys with much metadata over several pages", async () => {
  const { apiId, keyIds } = await createKeys(12);
  await api.database.query(`UPDATE keys SET meta = ${largeMeta} WHERE id = ANY($1)`, [keyIds]);

  expectWhole(await readPages("apis.listKeys", { apiId, limit: 100 }), keyIds);
});

it("lists keys of an identity with much metadata over several pages", async () => {
  const { apiId, keyIds } = await createKeys(12, { externalId: "user_large" });
  await api.database.query(`UPDATE identities SET meta = ${largeMeta} WHERE external_id = $1`, [
    "user_large",
  ]);

  const pages = await readPages("apis.listKeys", { apiId, externalId: "user_large", limit: 100 });

  expectWhole(pages, keyIds);
});

it("lists keys with many permissions over several pages", async () => {
  const permissions = Array.from({ length: 1_000 }, (_, index) => `${"p".repeat(110)}.${index}`);
  const { body } = await api.call(
    "permissions.createRole",
    { name: "many", permissions },
    workspace.rootKey,
  );
  expect(body.error).toBeUndefined();
  const { apiId, keyIds } = await createKeys(60, { roles: ["many"] });

  expectWhole(await readPages("apis.listKeys", { apiId, limit: 100 }), keyIds);
});

it("lists identities with much metadata over several pages", async () => {
  const other = await api.createWorkspace();
  workspace = other;
  const ids = Array.from({ length: 12 }, (_, index) => `id_large${index + 10}`);
  await api.database.query(
    `INSERT INTO identities (id, workspace_id, external_id, meta)
     SELECT id, $1, id, ${largeMeta} FROM unnest($2::text[]) AS id`,
    [other.id, ids],
  );

  expectWhole(await readPages("identities.listIdentities", { limit: 100 }), ids);
});

it("lists roles with many permissions over several pages", async () => {
  workspace = await api.createWorkspace();
  const permissions = Array.from({ length: 1_000 }, (_, index) => `${"p".repeat(110)}.${index}`);
  const roleIds = [];
  for (let index = 0; index < 20; index += 1) {
    const body = { name: `role ${index}`, permissions };
    const made = await api.call("permissions.createRole", body, workspace.rootKey);
    roleIds.push(made.body.data.roleId as string);
  }

  expectWhole(await readPages("permissions.listRoles", { limit: 100 }), roleIds);
});
