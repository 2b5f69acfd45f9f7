/** Metadata is data: names that mean something to JavaScript mean nothing in it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let rootKey: string;
let apiId: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ rootKey } = await api.createWorkspace());
  ({ apiId } = (await api.call("apis.createApi", { name: "odd" }, rootKey)).body.data);
});

afterAll(() => api?.stop());

/** As text, since an object literal cannot say some of it. */
async function send(procedure: string, body: string): Promise<string> {
  const answer = await fetch(`${api.url}/v2/${procedure}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return text;
}

const odd = [
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '{"__proto__":{"isAdmin":true}}',
  '{"a":{"__proto__":null,"constructor":{"prototype":1}}}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3,"toJSON":4,"then":5,"length":6}',
  '{"__proto__":"text","prototype":[{"__proto__":[]}]}',
];

/** Of the first `meta` in a text of JSON: what Postgres sorts differently is the same. */
const metaIn = (text: string) => canonical(JSON.parse(text).data);

function canonical(data: unknown): string {
  return JSON.stringify(data, (_, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    // biome-ignore lint/suspicious/noExplicitAny: any JSON
    const sorted = Object.entries(value as any).toSorted(([one], [other]) =>
      one < other ? -1 : 1,
    );
    return sorted.map(([name, part]) => [`name ${name}`, part]);
  });
}

it.each(odd)("keeps %s with a key, however it is asked for", async (meta) => {
  const expected = canonical({ meta: JSON.parse(meta) }).slice(2, -2);

  const made = JSON.parse(await send("keys.createKey", `{"apiId":"${apiId}","meta":${meta}}`)).data;
  await send("keys.updateKey", `{"keyId":"${made.keyId}","meta":${meta}}`);

  for (const [procedure, body] of [
    ["keys.getKey", `{"keyId":"${made.keyId}"}`],
    ["keys.whoami", `{"key":"${made.key}"}`],
    ["keys.verifyKey", `{"key":"${made.key}"}`],
    ["apis.listKeys", `{"apiId":"${apiId}"}`],
  ] as const) {
    expect(metaIn(await send(procedure, body))).toContain(expected);
  }
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
});

it.each(odd)("keeps %s with an identity, however it is asked for", async (meta) => {
  const expected = canonical({ meta: JSON.parse(meta) }).slice(2, -2);
  const externalId = `user_${odd.indexOf(meta)}`;

  await send("identities.createIdentity", `{"externalId":"${externalId}","meta":${meta}}`);
  await send("identities.updateIdentity", `{"identity":"${externalId}","meta":${meta}}`);

  expect(metaIn(await send("identities.getIdentity", `{"identity":"${externalId}"}`))).toContain(
    expected,
  );
  expect(metaIn(await send("identities.listIdentities", "{}"))).toContain(expected);
});

it.each([
  '{"apiId":"API","__proto__":{"decrypt":true}}',
  '{"apiId":"API","constructor":{"prototype":{"decrypt":true}}}',
  '{"__proto__":{"apiId":"API"}}',
])(
  "refuses %s as a body, in which nothing else than the procedure's own is known",
  async (body) => {
    const answer = await fetch(`${api.url}/v2/apis.listKeys`, {
      method: "POST",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
      body: body.replace("API", apiId),
    });

    expect(answer.status).toBe(400);
  },
);
