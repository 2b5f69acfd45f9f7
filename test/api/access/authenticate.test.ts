import { expect, it } from "vitest";
import { createAuthenticate } from "#api/access/authenticate.ts";
import { hashKey } from "#api/cache/key-record.ts";
import { buildKeyRecord } from "../../support/api/key-builders.ts";

const nowMs = 1_800_000_000_000;

/** Knows the root keys "one" and "two". */
function setUp() {
  const known = new Map(
    ["one", "two"].map((id) => [hashKey(id), buildKeyRecord({ id, forWorkspaceId: "ws_1" })]),
  );
  const authenticate = createAuthenticate({ get: (keyHash) => known.get(keyHash) });
  return (header: string | undefined, connection?: object) =>
    Promise.resolve(authenticate(header, nowMs, "10.0.0.1", connection));
}

it("takes each request of a connection for the key that it has", async () => {
  const authenticate = setUp();
  const connection = {};

  const callers = [];
  for (const key of ["one", "one", "two", "one"]) {
    callers.push((await authenticate(`Bearer ${key}`, connection)).keyId);
  }

  expect(callers).toEqual(["one", "one", "two", "one"]);
});

it.each([
  ["no header", undefined],
  ["no key", "Bearer "],
  ["a key that does not exist", "Bearer three"],
])("refuses a request with %s on a connection that had a good key", async (_, header) => {
  const authenticate = setUp();
  const connection = {};
  await authenticate("Bearer one", connection);

  await expect(async () => authenticate(header, connection)).rejects.toThrow();
});
