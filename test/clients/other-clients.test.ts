/** The published middlewares and the rate limit client, unchanged, against a running server. */
import { unkey as honoUnkey } from "@unkey/hono";
import { withUnkey } from "@unkey/nextjs";
import { Overrides, Ratelimit } from "@unkey/ratelimit";
import { Hono } from "hono";
import { NextRequest } from "next/server.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../support/api/api.ts";
import { checkedFetch } from "../support/api/api-contract.ts";
import { createTenant, type Tenant } from "../support/api/tenant.ts";

let api: TestApi;
let tenant: Tenant;
let made = 0;
const realFetch = globalThis.fetch;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

beforeEach(async () => {
  made += 1;
  tenant = await createTenant(api, `mark${made}x`);
});

afterEach(() => {
  globalThis.fetch = realFetch;
});

/** These clients have no setting for the address of their server. */
function redirectFetch(): void {
  const toOurs = checkedFetch(realFetch);
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    return toOurs(new Request(`${api.url}${pathname}${search}`, request));
  };
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

describe("@unkey/hono", () => {
  type Verified = { Variables: { unkey: { data: { valid: boolean; code: string } } } };

  const appOf = (config: Partial<Parameters<typeof honoUnkey>[0]> = {}) => {
    const app = new Hono<Verified>();
    app.use("*", honoUnkey({ rootKey: tenant.rootKey, ...config }));
    app.onError((error, context) => context.text(error.name, 500));
    app.get("/", (context) => context.json(context.get("unkey").data));
    return app;
  };

  beforeEach(redirectFetch);

  it("lets a good key through, with what it may do", async () => {
    const answer = await appOf({ permissions: tenant.slug }).request("/", bearer(tenant.key));

    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ valid: true, code: "VALID", keyId: tenant.keyId });
  });

  it("tells the app of a key that nobody has", async () => {
    const handleInvalidKey = async (context: { json: (body: unknown, status: 403) => Response }) =>
      context.json({ refused: true }, 403);

    const answer = await appOf({ handleInvalidKey } as never).request("/", bearer("nobody"));

    expect(answer.status).toBe(403);
  });

  it("tells the app of a permission that the key does not have", async () => {
    const answer = await appOf({ permissions: "a.b" }).request("/", bearer(tenant.key));

    expect(await answer.json()).toMatchObject({ valid: false, code: "INSUFFICIENT_PERMISSIONS" });
  });

  it("fails with a root key that nobody has", async () => {
    const answer = await appOf({ rootKey: "nobody" }).request("/", bearer(tenant.key));

    expect(answer.status).toBe(500);
    expect(await answer.text()).toBe("UnauthorizedErrorResponse");
  });
});

describe("@unkey/nextjs", () => {
  type Config = Parameters<typeof withUnkey>[1];

  const get = (key: string, config: Partial<Config> = {}) => {
    const handler = withUnkey(async (request) => Response.json(request.unkey.data), {
      rootKey: tenant.rootKey,
      ...config,
    });
    const request = new NextRequest("http://app.test/", bearer(key));
    return handler(request, { params: Promise.resolve({}) });
  };

  beforeEach(redirectFetch);

  it("lets a good key through, with what it may do", async () => {
    const answer = await get(tenant.key, { permissions: tenant.slug, tags: ["path=/"] });

    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ valid: true, keyId: tenant.keyId });
  });

  it("refuses a key that nobody has as 401", async () => {
    const answer = await get("nobody");

    expect(answer.status).toBe(401);
  });

  it("refuses a key without the permission, as the app wants it", async () => {
    const answer = await get(tenant.key, {
      permissions: "a.b",
      handleInvalidKey: (_, result) => Response.json(result.data, { status: 403 }),
    });

    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
  });

  it("throws what the client throws for a root key that nobody has", async () => {
    await expect(get(tenant.key, { rootKey: "nobody" })).rejects.toMatchObject({
      name: "UnauthorizedErrorResponse",
    });
  });
});

describe("@unkey/ratelimit", () => {
  const settings = () => ({ rootKey: tenant.rootKey, baseUrl: api.url });
  const limiter = (over: object = {}) =>
    new Ratelimit({ ...settings(), namespace: "mail", limit: 3, duration: "1h", ...over });

  it("lets as many calls pass as there are", async () => {
    const ratelimit = limiter();

    const passed: boolean[] = [];
    for (let call = 0; call < 5; call += 1) passed.push((await ratelimit.limit("anna")).success);

    expect(passed).toEqual([true, true, true, false, false]);
  });

  it("counts costs, and tells what is left until when", async () => {
    const answer = await limiter().limit("anna", { cost: 2 });

    expect(answer).toMatchObject({ success: true, limit: 3, remaining: 1 });
    expect(answer.reset).toBeGreaterThan(Date.now());
  });

  it("obeys overrides, which are set, read, listed and deleted", async () => {
    const overrides = new Overrides(settings());
    const place = { namespace: "mail", identifier: "a*" };
    await limiter().limit("berta");

    await overrides.setOverride({ ...place, limit: 0, duration: 3_600_000 });
    const blocked = await limiter().limit("anna");
    const read = await overrides.getOverride(place);
    const list = await overrides.listOverrides({ namespace: "mail" });
    await overrides.deleteOverride(place);
    const free = await limiter().limit("anna");

    expect(blocked).toMatchObject({ success: false, overrideId: read.data.overrideId });
    expect(list.data).toMatchObject([{ identifier: "a*", limit: 0 }]);
    expect(free.success).toBe(true);
  });

  it("hears of a root key that nobody has", async () => {
    const heard: string[] = [];
    const onError = (error: Error) => {
      heard.push(error.message);
      return { success: false, limit: 0, remaining: 0, reset: 0 };
    };

    const answer = await limiter({ rootKey: "nobody", onError }).limit("anna");

    expect(answer.success).toBe(false);
    expect(heard.join()).toContain("401");
  });
});
