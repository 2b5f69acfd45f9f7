/** How keys are read from a real database: together, each with what is its own. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLoadKeyRecord, hashKey } from "#api/cache/key-record.ts";
import type { Database } from "#kernel/database.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let client: ReturnType<TestApi["client"]>;
let newKey: (fields: object) => Promise<{ keyId: string; key: string }>;

beforeAll(async () => {
  api = await startTestApi();
  client = api.client((await api.createWorkspace()).rootKey);
  const { apiId } = (await client.apis.createApi({ name: "payments" })).data;
  await client.identities.createIdentity({ externalId: "long", meta: { text: "y".repeat(3_000) } });
  await client.identities.createIdentity({ externalId: "short", meta: { text: "z" } });
  newKey = async (fields) => (await client.keys.createKey({ apiId, ...fields })).data;
});

afterAll(() => api?.stop());

type Statement = { name: string; text: string; values: unknown[] };

/** The database, and the statements that were run by it. */
function observed(): { database: Pick<Database, "query">; statements: Statement[] } {
  const statements: Statement[] = [];
  const query = (statement: Statement) => {
    statements.push(statement);
    return api.database.query(statement);
  };
  return { database: { query } as unknown as Pick<Database, "query">, statements };
}

async function loadAll(keys: readonly string[]) {
  const { database, statements } = observed();
  const load = createLoadKeyRecord(database as Database);
  const records = await Promise.all(keys.map((key) => load(hashKey(key))));
  const singly = statements.filter(({ name }) => name === "load-key-record").length;
  return { records, singly, together: statements.length - singly };
}

it("reads the keys that are asked for at once by few queries, and finds each", async () => {
  const names = Array.from({ length: 50 }, (_, index) => `key ${index}`);
  const made = await Promise.all(names.map((name) => newKey({ name, meta: { name } })));

  const { records, singly, together } = await loadAll(made.map(({ key }) => key));

  const found = records.map((record) => [record?.id, record?.name, record?.meta]);
  expect(found).toEqual(made.map(({ keyId }, i) => [keyId, names[i], { name: names[i] }]));
  expect({ singly, together }).toEqual({ singly: 0, together: 3 });
});

it("reads two keys together, also of an identity, of one that is deleted, or deleted themselves", async () => {
  const made = await Promise.all([
    newKey({ externalId: "short" }),
    newKey({ externalId: "deleted" }),
    newKey({}),
  ]);
  const [, , deleted] = made;
  await client.identities.deleteIdentity({ identity: "deleted" });
  await client.keys.deleteKey({ keyId: deleted?.keyId ?? "" });

  const first = await loadAll(made.slice(0, 2).map(({ key }) => key));
  const second = await loadAll(made.slice(1).map(({ key }) => key));

  expect(first.records.map((record) => record?.identity?.externalId)).toEqual(["short", undefined]);
  expect(second.records.map((record) => record?.isDeleted)).toEqual([false, true]);
  for (const { singly, together } of [first, second])
    expect({ singly, together }).toEqual({ singly: 0, together: 1 });
});

it("reads large keys and unknown ones alone", async () => {
  const permissions = Array.from({ length: 101 }, (_, index) => `documents.read.${index}`);
  await client.permissions.createRole({ name: "reader" });
  const large = [
    { meta: { text: "x".repeat(3_000) } },
    { meta: { text: randomBytes(1_500).toString("hex") } },
    { externalId: "long" },
    { permissions },
    { roles: ["reader"] },
  ];
  const made = await Promise.all([{}, ...large].map(newKey));
  await api.database.query(
    `INSERT INTO role_permissions (role_id, permission_id)
     SELECT r.id, p.id FROM roles r, permissions p WHERE r.name = 'reader' AND p.slug LIKE 'documents.read.%'`,
  );

  const { records, singly, together } = await loadAll([...made.map(({ key }) => key), "unknown"]);

  expect(records.map((record) => record?.id)).toEqual([
    ...made.map(({ keyId }) => keyId),
    undefined,
  ]);
  expect(records[1]?.meta).toEqual(large[0]?.meta);
  expect(records[3]?.identity?.meta).toEqual({ text: "y".repeat(3_000) });
  expect(records.map((record) => record?.permissions.length ?? 0)).toEqual([
    0, 0, 0, 0, 101, 101, 0,
  ]);
  expect({ singly, together }).toEqual({ singly: 6, together: 1 });
});

it("reads one key alone", async () => {
  const { keyId, key } = await newKey({});

  const known = await loadAll([key]);
  const unknown = await loadAll(["unknown"]);

  expect(known).toMatchObject({ records: [{ id: keyId }], singly: 1, together: 0 });
  expect(unknown).toEqual({ records: [undefined], singly: 1, together: 0 });
});
