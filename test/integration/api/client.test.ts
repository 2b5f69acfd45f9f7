/** Every procedure through the published client, which holds each answer against schemas of its own. */
import type { Unkey } from "@unkey/api";
import * as errors from "@unkey/api/models/errors";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "#api/analytics/engine/engine.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { createLog } from "#kernel/log.ts";
import { untilReady } from "../../support/api/analytics.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { procedureNames } from "../../support/api/api-contract.ts";
import { type ClientCall, clientCalls } from "../../support/api/client-calls.ts";
import { createTenant, type Tenant } from "../../support/api/tenant.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const dir = makeTempDir();
let stopEngine: () => Promise<void>;
let hasStore = false;
let api: TestApi;
let made = 0;

beforeAll(async () => {
  const retention = retentionFrom(30);
  const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });
  const store = new Engine({ url: "", dataDir: dir.path, retention, log });
  stopEngine = () => store.close();
  await untilReady(store);
  hasStore = store.state() !== "absent";
  api = await startTestApi({ analytics: { store, retention } });
});

afterAll(async () => {
  await api?.stop();
  await stopEngine?.();
  dir.remove();
});

/** Calls as somebody new, with everything there that a call may ask about. */
async function asTenant(
  act: (unkey: Unkey, tenant: Tenant) => Promise<unknown>,
  before?: ClientCall["before"],
): Promise<unknown> {
  made += 1;
  const tenant = await createTenant(api, `mark${made}x`);
  const unkey = api.client(tenant.rootKey);
  await before?.(unkey, tenant);
  return act(unkey, tenant);
}

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => error,
  );

/** The class of a refusal: it has one for each status that it knows of the procedure. */
const classes = {
  400: errors.BadRequestErrorResponse,
  401: errors.UnauthorizedErrorResponse,
  403: errors.ForbiddenErrorResponse,
  404: errors.NotFoundErrorResponse,
  412: errors.PreconditionFailedErrorResponse,
  429: errors.TooManyRequestsErrorResponse,
} as const;

/** Refused as `status` in the client's own class of it. */
function expectRefusal(error: unknown, status: keyof typeof classes): void {
  expect(error).toBeInstanceOf(classes[status]);
  const { error: told, meta } = error as errors.NotFoundErrorResponse;
  expect(told.status).toBe(status);
  expect(told.type).toMatch(/^https:\/\/docs\.test\/errors\/(unkey|user)\/\w+\/\w+$/);
  expect(meta.requestId).toMatch(/^req_/);
}

/** Patterns stand for texts. */
function matching(told: unknown): unknown {
  if (told instanceof RegExp) return expect.stringMatching(told);
  if (Array.isArray(told)) return told.map(matching);
  if (typeof told !== "object" || told === null) return told;
  return Object.fromEntries(Object.entries(told).map(([name, value]) => [name, matching(value)]));
}

it("every procedure of the contract is called", () => {
  expect(Object.keys(clientCalls).toSorted()).toEqual(procedureNames.toSorted());
});

/** These say by their answer, and by no error, that a caller may not. */
const neverForbidden = new Map<string, "answered" | 404>([
  ["keys.verifyKey", "answered"],
  ["apis.listKeys", 404],
  ["keys.createKey", 404],
  ["keys.whoami", 404],
  ["ratelimit.getOverride", 404],
]);

describe.each(Object.entries(clientCalls))("%s", (name, clientCall) => {
  const { call, told, refusal, before, lost } = clientCall;

  it("answers what the client understands", async () => {
    const needsStore = name.startsWith("analytics.") && !hasStore;

    if (refusal !== undefined || needsStore) {
      expectRefusal(await errorOf(asTenant(call, before)), refusal ?? 412);
      return;
    }
    expect(await asTenant(call, before)).toMatchObject(matching(told) as object);
  });

  it("refuses a root key that nobody has as 401", async () => {
    const error = await asTenant((_, tenant) => errorOf(call(api.client("nobody"), tenant)));

    expectRefusal(error, 401);
  });

  it("refuses a call without a root key as 400", async () => {
    const error = await asTenant((_, tenant) => errorOf(call(api.client(""), tenant)));

    expectRefusal(error, 400);
  });

  it("refuses a root key that may do nothing as 403, or as what tells nothing", async () => {
    const error = await asTenant(async (_, tenant) => {
      const rootKey = await api.createRootKey(tenant.id, []);
      return errorOf(call(api.client(rootKey), tenant));
    }, before);

    const expected = refusal ?? neverForbidden.get(name) ?? 403;
    if (expected === "answered") expect(error).toBe("answered");
    else expectRefusal(error, expected);
  });

  it("refuses a workspace that has made its calls as 429", async () => {
    const error = await asTenant(async (_, tenant) => {
      const sql = "UPDATE workspaces SET api_requests_per_minute = 0 WHERE id = $1";
      await api.database.query(sql, [tenant.id]);
      const rootKey = await api.createRootKey(tenant.id);
      return errorOf(call(api.client(rootKey), tenant));
    });

    expectRefusal(error, 429);
  });

  it.runIf(lost)("refuses what is not there as 404", async () => {
    const error = await asTenant((unkey) => errorOf(lost?.(unkey) ?? Promise.resolve()));

    // The contract, and so the client, does not know that a role may be missing here.
    if (name !== "permissions.deleteRole") expectRefusal(error, 404);
    else expect(error).toMatchObject({ name: "APIError", statusCode: 404 });
  });
});

describe("the rest of the refusals", () => {
  it.each([
    [
      "a permission that there is",
      (unkey: Unkey, { slug }: Tenant) =>
        unkey.permissions.createPermission({ name: "again", slug }),
    ],
    [
      "a role that there is",
      (unkey: Unkey, { role: name }: Tenant) => unkey.permissions.createRole({ name }),
    ],
    [
      "an identity that there is",
      (unkey: Unkey, { externalId }: Tenant) => unkey.identities.createIdentity({ externalId }),
    ],
  ])("%s is a conflict", async (_, again) => {
    const error = await asTenant((unkey, tenant) => errorOf(again(unkey, tenant)));

    expect(error).toBeInstanceOf(errors.ConflictErrorResponse);
  });

  it("a namespace that was deleted is gone", async () => {
    const error = await asTenant(async (unkey, { id, namespace }) => {
      const sql =
        "INSERT INTO ratelimit_namespaces (id, workspace_id, name, deleted_at) VALUES ($1, $2, $3, now())";
      await api.database.query(sql, [`rlns_${id}`, id, namespace]);
      const limit = { namespace, identifier: "a", limit: 1, duration: 60_000 };
      return errorOf(unkey.ratelimit.limit(limit));
    });

    expect(error).toBeInstanceOf(errors.GoneErrorResponse);
  });

  it("a body that is not what the contract has names its faults", async () => {
    const error = await asTenant((unkey) => errorOf(unkey.apis.createApi({ name: "ab" })));

    expect(error).toBeInstanceOf(errors.BadRequestErrorResponse);
    expect((error as errors.BadRequestErrorResponse).error.errors).toMatchObject([
      { location: "/properties/name/minLength" },
    ]);
  });
});

it.each([
  ["projects.getProject", (unkey: Unkey) => unkey.projects.getProject({ project: "one" })],
  [
    "portal.createSession",
    (unkey: Unkey) =>
      unkey.portal.createSession({ portal: "one", externalId: "anna", scopes: ["keys:read"] }),
  ],
] as const)(
  "%s of the hosted platform is refused in the client's own class of 404",
  async (_, call) => {
    const error = await asTenant((unkey) => errorOf(call(unkey)));

    expectRefusal(error, 404);
    expect((error as errors.NotFoundErrorResponse).error.type).toMatch(/hosted_platform_only$/);
  },
);

it("pages through keys with the client's own iterator, each key once", async () => {
  const seen = await asTenant(async (unkey, { apiId, keyId }) => {
    const others = await Promise.all(
      Array.from({ length: 4 }, () => unkey.keys.createKey({ apiId })),
    );
    const found: string[] = [];
    for await (const page of await unkey.apis.listKeys({ apiId, limit: 2 })) {
      found.push(...page.result.data.map((key) => key.keyId));
    }
    const all = [keyId, ...others.map(({ data }) => data.keyId)];
    return { found: found.toSorted(), all: all.toSorted() };
  });

  expect(seen).toMatchObject({ found: (seen as { all: string[] }).all });
});
