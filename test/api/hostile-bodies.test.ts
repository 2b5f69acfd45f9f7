/** Bodies of ten million characters that anyone may send: keys are asked for only after them. */
import { expect, it } from "vitest";
import { unconnectedApi } from "../support/unconnected-api.ts";

const bodyBytes = 10 * 1024 * 1024 - 200;

/** As many items as a body may hold, between `head` and `tail`. */
const filled = (item: string, head: string, tail: string) =>
  head + new Array(Math.floor(bodyBytes / (item.length + 1))).fill(item).join(",") + tail;

const properties = (head: string, tail: string) => {
  const names = Array.from({ length: 600_000 }, (_, n) => `"name${n}":1`);
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
])("%s refuses ten megabytes of %s in a few words", async (procedure, _, payload) => {
  const api = unconnectedApi();

  const answer = await api.inject({
    method: "POST",
    url: `/v2/${procedure}`,
    headers: { "content-type": "application/json" },
    payload,
  });

  expect(answer.statusCode).toBe(400);
  expect(answer.body.length).toBeLessThan(50_000);
  expect(answer.json().error.errors.length).toBeLessThanOrEqual(100);
});
