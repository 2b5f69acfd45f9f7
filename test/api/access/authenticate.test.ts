import { expect, it } from "vitest";
import { createAuthenticate } from "#api/access/authenticate.ts";
import { hashKey } from "#api/cache/key-record.ts";
import { buildKeyRecord } from "../../support/api/key-builders.ts";

const nowMs = 1_800_000_000_000;

/** Knows the root keys "one" and "two". */
function setUp() {
  return setUpKnown().authenticate;
}

function setUpKnown() {
  const known = new Map(
    ["one", "two"].map((id) => [hashKey(id), buildKeyRecord({ id, forWorkspaceId: "ws_1" })]),
  );
  const authenticate = createAuthenticate({ get: (keyHash) => known.get(keyHash) });
  return {
    known,
    authenticate: (header: string | undefined, connection?: object) =>
      Promise.resolve(authenticate(header, nowMs, "10.0.0.1", connection)),
  };
}

it("authentication takes each request of a connection for the key that it has", async () => {
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
])(
  "authentication refuses a request with %s on a connection that had a good key",
  async (_, header) => {
    const authenticate = setUp();
    const connection = {};
    await authenticate("Bearer one", connection);

    await expect(async () => authenticate(header, connection)).rejects.toThrow();
  },
);

it.each([
  ["deleted", { isDeleted: true }, "key_not_found"],
  ["disabled", { isEnabled: false }, "key_disabled"],
  ["expired", { expiresMs: nowMs }, "forbidden"],
  ["gone", undefined, "key_not_found"],
])(
  "authentication refuses a key that was %s between two requests of a connection",
  async (_, change, code) => {
    const { authenticate, known } = setUpKnown();
    const connection = {};
    await authenticate("Bearer one", connection);

    if (change === undefined) known.delete(hashKey("one"));
    else known.set(hashKey("one"), buildKeyRecord({ forWorkspaceId: "ws_1", ...change }));

    await expect(async () => authenticate("Bearer one", connection)).rejects.toMatchObject({
      code: expect.stringContaining(code),
    });
  },
);

it("authentication takes the permissions that a key has at each request of a connection", async () => {
  const { authenticate, known } = setUpKnown();
  const connection = {};
  await authenticate("Bearer one", connection);

  const permissions = ["api.*.verify_key"];
  known.set(hashKey("one"), buildKeyRecord({ forWorkspaceId: "ws_1", permissions }));
  const { grants } = await authenticate("Bearer one", connection);

  expect(grants.allow("api.*.verify_key")).toBe(true);
});
