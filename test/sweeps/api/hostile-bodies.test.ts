/** Bodies of two million characters. They are looked at before it is looked what their key may do. */
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Grants } from "#api/access/grants.ts";
import { createNamespaces } from "#api/api.ts";
import { ApiError } from "#api/error.ts";
import { hasTooManyValues } from "#api/http/server.ts";
import type { NamespaceParts } from "#api/parts.ts";
import { testServer } from "../../support/api/api-server.ts";
import { neverAsked } from "../../support/never-asked.ts";

const caller = {
  keyId: "key_test",
  name: undefined,
  workspaceId: "ws_test",
  grants: new Grants([]),
  limitPerMinute: undefined,
};

/** All procedures, for who has the key "known". */
function startApi() {
  return testServer(createNamespaces(neverAsked<NamespaceParts>()), {
    authenticate: async (header) => {
      if (header === "Bearer known") return caller;
      throw new ApiError("unkey/authentication/key_not_found", "nobody's key");
    },
  });
}

const bodyBytes = 2 * 1024 * 1024;

/** As many items as a body may hold, between `head` and `tail`. */
const filled = (item: string, head: string, tail: string) =>
  head + new Array(Math.floor(bodyBytes / (item.length + 1))).fill(item).join(",") + tail;

const properties = (head: string, tail: string) => {
  const names = Array.from({ length: 120_000 }, (_, n) => `"name${n}":1`);
  return head + names.join(",") + tail;
};

it.each([
  ["permissions.createRole", "numbers", filled("1", '{"name":"a","permissions":[', "]}")],
  ["permissions.setRolePermissions", "nulls", filled("null", '{"permissions":[', "]}")],
  ["ratelimit.multiLimit", "empty objects", filled("{}", "[", "]")],
  ["keys.migrateKeys", "empty objects", filled("{}", '{"keys":[', "]}")],
  ["keys.verifyKey", "halves of limits", filled('{"name":"a"}', '{"key":"a","ratelimits":[', "]}")],
  ["keys.verifyKey", "tags", filled('"a"', '{"key":"a","tags":[', "]}")],
  ["apis.createApi", "unknown properties", properties("{", "}")],
  ["identities.createIdentity", "metadata", properties('{"externalId":"a","meta":{', "}}")],
  ["apis.createApi", "a long property", `{"${"a".repeat(bodyBytes)}":1}`],
  ["apis.createApi", "a long name", JSON.stringify({ name: "é".repeat(bodyBytes / 2) })],
])("%s refuses two megabytes of %s in a few words", async (procedure, _, payload) => {
  const answer = await startApi().inject({
    method: "POST",
    url: `/v2/${procedure}`,
    headers: { "content-type": "application/json", authorization: "Bearer known" },
    payload,
  });

  expect(answer.statusCode).toBe(400);
  expect(answer.body.length).toBeLessThan(50_000);
  const { errors } = answer.json().error;
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.length).toBeLessThanOrEqual(100);
});

/** Six megabytes, as metadata of a key. */
const metadata = (item: string) => {
  const items = new Array(Math.floor((3 * bodyBytes) / (item.length + 1))).fill(item).join(",");
  return `{"apiId":"api_12345","meta":{"list":[${items}]}}`;
};

it.each([
  ["empty lists", "[]"],
  ["lists in lists", `${"[".repeat(90)}${"]".repeat(90)}`],
  ["small objects", '{"a":1}'],
  ["numbers with exponents", "1e30"],
])("six megabytes of %s are refused before they are read", async (_, item) => {
  const answer = await startApi().inject({
    method: "POST",
    url: "/v2/keys.createKey",
    headers: { "content-type": "application/json", authorization: "Bearer known" },
    payload: metadata(item),
  });

  expect(answer.statusCode).toBe(400);
  expect(answer.json().error.errors).toEqual([
    { location: "/", message: "more than 500000 values are too many at once; send fewer" },
  ]);
});

it.each([
  ["commas and brackets in its texts", `{"list":["${",[{".repeat(300_000)}"]}`, false],
  ["quotes in its texts", JSON.stringify(['",'.repeat(400_000)]), false],
  ["a text that never ends", `["${",".repeat(600_000)}`, false],
  ["a backslash at its end", `["${"\\".repeat(600_000)}`, false],
  ["499,999 numbers", `[${new Array(499_999).fill("1").join(",")}]`, false],
  ["500,002 numbers", `[${new Array(500_002).fill("1").join(",")}]`, true],
  ["its values behind a text", `["\\\\",${new Array(500_001).fill("1").join(",")}]`, true],
])("of a body with %s the values are counted", (_, json, isTooMany) => {
  expect(hasTooManyValues(Buffer.from(json))).toBe(isTooMany);
});

describe("without a good key", () => {
  const post = (payload: string | Readable, headers: Record<string, string> = {}) =>
    startApi().inject({
      method: "POST",
      url: "/v2/apis.createApi",
      headers: { "content-type": "application/json", authorization: "Bearer nobody", ...headers },
      payload,
    });

  it("a small body is looked at first, as the contract has it", async () => {
    const answer = await post("{".padEnd(60_000));

    expect(answer.statusCode).toBe(400);
  });

  it("a large body is not read", async () => {
    const answer = await post("{".padEnd(70_000));

    expect(answer.statusCode).toBe(401);
    expect(answer.headers.connection).toBe("close");
  });

  it("a body that does not say how large it is is not read either", async () => {
    const answer = await post(Readable.from(["{"]), { "transfer-encoding": "chunked" });

    expect(answer.statusCode).toBe(401);
  });

  it("a body that is too large for anyone is refused as that", async () => {
    const answer = await post("{".padEnd(11_000_000));

    expect(answer.statusCode).toBe(413);
  });
});
