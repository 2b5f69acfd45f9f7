/** Requests that nobody sends on purpose, and those that are right in all but one thing. */
import fc from "fast-check";
import { requestSchema } from "./api-contract.ts";
import { bodiesOf, mutated } from "./schema-bodies.ts";
import { servedProcedures } from "./served-procedures.ts";
import type { Tenant } from "./tenant.ts";

const served = servedProcedures.map(([name]) => name);

export type FuzzRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
};

/** `tenant`: what is there to be met. */
export function fuzzRequests(tenant: Tenant): fc.Arbitrary<FuzzRequest> {
  const known = knownTexts(tenant);
  return fc.constantFrom(...served).chain((procedure) =>
    fc.record({
      method: mostly("POST", fc.constantFrom("GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")),
      path: mostly(`/v2/${procedure}`, oddPaths(procedure)),
      headers: headersOf(tenant),
      body: bodyBytes(procedure, known),
    }),
  );
}

/** The usual 19 times in 20. */
function mostly<Value>(usual: Value, odd: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 19, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
}

function oddPaths(procedure: string): fc.Arbitrary<string> {
  return fc.constantFrom(
    `/v2/${procedure}/`,
    `/v2/${procedure}?a=1&a=2&__proto__=3`,
    `/v2/${procedure.toUpperCase()}`,
    `/v2//${procedure}`,
    `/v2/${procedure}%00`,
    `/v2/%2e%2e/${procedure}`,
    `/v2/${procedure.replace(".", "%2E")}`,
    "/v2/keys.__proto__",
    "/v2/constructor.toString",
    "/v2/liveness",
    `/v2/${"a".repeat(4_000)}`,
    "/%E0%A4%A",
    "/",
  );
}

const oddTexts = [
  "' OR 1=1 --",
  "%",
  "_",
  "\\",
  "$1",
  "../../etc/passwd",
  "__proto__",
  "constructor",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\u202e\u0301",
  "😀".repeat(64),
  "a AND (b OR c)",
  "((((a",
  "a".repeat(5_000),
  "*".repeat(200),
  "",
  " ",
];

/** Texts by the name of the property: what is there, what is of another kind, and what is odd. */
function knownTexts(tenant: Tenant): Record<string, fc.Arbitrary<string>> {
  const { apiId, keyId, key, identityId, externalId, role, roleId, slug, permissionId } = tenant;
  const { namespace, identifier, migrationId } = tenant;
  const all = [apiId, keyId, key, identityId, externalId, role, roleId, slug, permissionId];
  const texts = (...usual: string[]) =>
    fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom(...usual) },
      { weight: 1, arbitrary: fc.constantFrom(...all) },
      { weight: 1, arbitrary: fc.constantFrom(...oddTexts) },
    );
  return {
    apiId: texts(apiId),
    keyId: texts(keyId),
    key: texts(key),
    identity: texts(identityId, externalId),
    externalId: texts(externalId, "user_2"),
    role: texts(role, roleId),
    roles: texts(role, role.toUpperCase()),
    roleId: texts(roleId),
    permission: texts(slug, permissionId),
    permissions: texts(slug, slug.toUpperCase(), "docs.more"),
    slug: texts(slug, "docs.more"),
    namespace: texts(namespace),
    identifier: texts(identifier, "*", "a*b*"),
    migrationId: texts(migrationId),
    cursor: texts(...all),
    search: texts(...oddTexts),
    query: texts(...queries),
    name: texts("requests", "limit", role),
  };
}

const queries = [
  "SELECT * FROM key_verifications_v1",
  "SELECT count(*) FROM ratelimits_v1 WHERE time > now() - INTERVAL 1 DAY",
  "SELECT * FROM system.tables",
  "SELECT 1; DROP TABLE keys",
  `SELECT ${"(".repeat(500)}1${")".repeat(500)}`,
  "SELECT outcome, count() FROM key_verifications_v1 GROUP BY outcome UNION ALL SELECT 1",
];

/** JSON that no value of JavaScript becomes by itself; put in as it stands. */
const oddJson = [
  "1e400",
  "-1e400",
  "-0",
  "1.5",
  "9223372036854775807",
  "9223372036854775808",
  "123456789012345678901234567890",
  "1e308",
  '"\\u0000"',
  '"\\ud800"',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '{"a":1,"a":2}',
  '{"\\u0000":1}',
  `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  `${'{"a":'.repeat(99)}1${"}".repeat(99)}`,
  `[${"0,".repeat(5_000)}0]`,
  `"${"x".repeat(300_000)}"`,
  "NaN",
  "undefined",
  "'x'",
];

const place = "@odd@";

function bodyBytes(procedure: string, known: Record<string, fc.Arbitrary<string>>) {
  const bodies = bodiesOf(requestSchema(procedure), { known });
  const asJson = (body: unknown) => Buffer.from(JSON.stringify(body));
  const odd = fc
    .tuple(mutated(bodies, fc.constant(place)), fc.constantFrom(...oddJson))
    .map(([body, json]) => Buffer.from(JSON.stringify(body).replace(`"${place}"`, () => json)));
  return fc.oneof(
    { weight: 24, arbitrary: bodies.map(asJson) },
    { weight: 4, arbitrary: mutated(bodies).map(asJson) },
    { weight: 6, arbitrary: odd },
    { weight: 2, arbitrary: damaged(bodies.map(asJson)) },
    { weight: 1, arbitrary: oddBytes },
  );
}

/** Cut off, or with bytes in it that were not there. */
function damaged(bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(bodies, fc.nat(), fc.uint8Array({ maxLength: 4 }), fc.nat({ max: 3 }))
    .map(([body, pick, bytes, removed]) => {
      const at = pick % (body.length + 1);
      return Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + removed)]);
    });
}

const oddBytes: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom("", "null", "true", "7", '"text"', "[]", "{}", "\ufeff{}", " {} ", "{}{}")
    .map((text) => Buffer.from(text)),
  fc.constant(Buffer.from('{"name":"text in UTF-16"}', "utf16le")),
  fc.constant(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
);

function headersOf({ rootKey }: Tenant): fc.Arbitrary<Record<string, string>> {
  const authorization = mostly(
    `Bearer ${rootKey}`,
    fc.constantFrom("", "Bearer", "Bearer ", `bearer  ${rootKey} `, rootKey, "Basic YTpi", "\xff"),
  );
  const contentType = mostly(
    "application/json",
    fc.constantFrom(
      "",
      "application/json; charset=utf-16",
      "APPLICATION/JSON",
      "application/problem+json",
      "text/plain",
      "multipart/form-data",
      "application/x-www-form-urlencoded",
      "application/json, text/html",
      "/",
    ),
  );
  const more = mostly(
    {},
    fc.constantFrom<Record<string, string>>(
      { accept: "application/problem+json" },
      { accept: "\xff" },
      { "content-encoding": "gzip" },
      { "x-forwarded-for": "not an address, 1.2.3.4:5, ::1" },
      { "x-forwarded-for": ",".repeat(1_000) },
      { "user-agent": "é".repeat(2_000) },
      { "x-unkey-metrics": "disabled" },
      { expect: "100-continue" },
      { "transfer-encoding": "chunked" },
      { connection: "upgrade", upgrade: "websocket" },
      { host: "[::1" },
      { "request-id": "__proto__", cookie: "a=b", origin: "null" },
    ),
  );
  return fc
    .tuple(authorization, contentType, more)
    .map(([auth, type, rest]) => ({ authorization: auth, "content-type": type, ...rest }));
}
