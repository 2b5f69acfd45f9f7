import { expect, it } from "vitest";
import { createReader } from "#routing/incident/service.ts";
import { retryLimits, retryStep } from "#routing/incident/steps.ts";
import {
  type Answer,
  callOnce,
  readOnly,
  refuseAll,
  type Send,
} from "#routing/incident/transport.ts";

const answering =
  (answer: Partial<Answer>): Send =>
  async () => ({ status: 200, retryAfter: undefined, body: {}, ...answer });

const put = { method: "PUT", path: "/v2/alert_routes/01R", body: {} } as const;

it("a reader sends nothing but GET", async () => {
  let sent = 0;
  const send = readOnly(async (call) => {
    sent += 1;
    return answering({})(call);
  });

  await expect(send(put)).rejects.toThrow("PUT by a reader");
  await send({ method: "GET", path: "/v2/alert_routes" });
  expect(sent).toBe(1);
});

it("the client refuses a plan for another service, and says why", async () => {
  expect(await callOnce(refuseAll("the plan is for another service"), put)).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("the plan is for another service"),
  });
});

it.each([
  [201, "done"],
  [404, "absent"],
  [409, "refused"],
  [422, "refused"],
  [429, "later"],
  [408, "lost"],
  [500, "lost"],
  [503, "lost"],
])("the client takes status %i for %s", async (status, kind) => {
  expect((await callOnce(answering({ status }), put)).kind).toBe(kind);
});

it("the client treats a 404 that is not from the service as a lost answer", async () => {
  const { readRoute } = createReader(answering({ status: 404, body: undefined }));

  expect(await readRoute("01R")).toMatchObject({ kind: "later" });
});

it("the client ends a list whose pages repeat", async () => {
  let asked = 0;
  const { listRoutes } = createReader(async (call) => {
    asked += 1;
    const after = call.path.includes("after=a") ? "b" : "a";
    return answering({ body: { alert_routes: [], pagination_meta: { after } } })(call);
  });

  expect(await listRoutes()).toMatchObject({ kind: "failed" });
  expect(asked).toBe(3);
});

it("the client takes no list of anything else for one of routes, however long it is", async () => {
  const { listRoutes } = createReader(answering({ body: { alert_routes: Array(90_000).fill(0) } }));

  expect(await listRoutes()).toMatchObject({ kind: "failed" });
});

it("the client waits as long as retry-after says, in seconds or until a date", async () => {
  const seconds = await callOnce(answering({ status: 429, retryAfter: "7" }), put);
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const date = await callOnce(answering({ status: 429, retryAfter: inAMinute }), put);

  expect(seconds).toMatchObject({ kind: "later", afterMs: 7_000 });
  expect((date as { afterMs: number }).afterMs).toBeGreaterThan(55_000);
});

it("quotes what the service says, and its request, but nothing of an error on the way", async () => {
  const body = {
    request_id: "req-9",
    errors: [{ code: "invalid", message: "is taken", source: { field: "name" } }],
  };
  const refused = await callOnce(answering({ status: 422, body }), put);
  const broken = await callOnce(async () => {
    throw Object.assign(new Error("key inc-secret was sent"), { code: "ECONNRESET" });
  }, put);

  expect(refused).toMatchObject({
    reason: "the incident service answered 422 (name: is taken, request req-9)",
  });
  expect(broken).toEqual({
    kind: "lost",
    reason: "the incident service did not answer (ECONNRESET)",
  });
});

it("the client retries calls without an answer, no more often than the limits allow", async () => {
  const slept: number[] = [];
  let asked = 0;
  const steps = {
    run: <T>(_name: string, action: () => Promise<T>) => action(),
    sleep: async (ms: number) => void slept.push(ms),
  };
  const { listSources } = createReader(async (call) => {
    asked += 1;
    return answering({ status: 503 })(call);
  });

  const end = await retryStep({ steps, retryLimits: retryLimits.terminal }, "list", listSources);

  expect(end).toMatchObject({ kind: "failed" });
  expect(asked).toBe(retryLimits.terminal.retries + 1);
  expect(slept).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
});

it("the client does not follow a list that never ends", async () => {
  const page = {
    alert_routes: [{ id: "01R", name: "A" }],
    pagination_meta: { after: "01R" },
  };
  const { listRoutes } = createReader(answering({ body: page }));

  expect(await listRoutes()).toEqual({
    kind: "failed",
    reason: "the list /v2/alert_routes does not end",
  });
});

it("the client says so when something other than the service answers", async () => {
  const { readRoute } = createReader(answering({ body: { hello: "there" } }));

  expect(await readRoute("01R")).toMatchObject({
    kind: "failed",
    reason: "unexpected answer from the incident service: is incident.url its address?",
  });
});
