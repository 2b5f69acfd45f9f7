/** The client before a gateway that answers from a list. */
import { describe, expect, it, vi } from "vitest";
import { createClient, VedetteError } from "#client/client.ts";
import { buildStatus } from "../support/program/fake-control.ts";

const url = "https://rollouts.example.com/prefix";
const image = "registry.example.com/team/app:v2";

type Sent = { url: string; init: RequestInit & { headers: Record<string, string> } };
type Answer = (init: RequestInit) => Response | Promise<Response>;

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
const refusal = (status: number, code = "x") =>
  json({ status, code, detail: `no: ${code}` }, status);
const hang: Answer = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
const unreachable: Answer = () => {
  throw new TypeError("fetch failed", {
    cause: Object.assign(new Error(), { code: "ECONNREFUSED" }),
  });
};

/** Answers one after the other; the last one for ever. */
function gateway(...answers: Answer[]) {
  const sent: Sent[] = [];
  const send = async (to: string, init: Sent["init"]) => {
    sent.push({ url: to, init });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined) throw new Error("there is no answer");
    return answer(init);
  };
  return { sent, fetch: send as unknown as typeof fetch };
}

async function errorOf(call: Promise<unknown>): Promise<VedetteError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(VedetteError);
  return error as VedetteError;
}

describe("a call that answers at once", () => {
  it("posts to the handler with the token, and answers what the handler does", async () => {
    const { sent, fetch } = gateway(() => json(buildStatus({ state: "paused" })));
    const client = createClient({ url: `${url}/`, token: "secret\n", fetch });

    const status = await client.status();

    expect(status.state).toBe("paused");
    expect(sent[0]?.url).toBe(`${url}/vedette.v1.SentinelRolloutService/singleton/Status`);
    expect(sent[0]?.init).toMatchObject({
      method: "POST",
      body: "{}",
      redirect: "manual",
      headers: { authorization: "Bearer secret", "content-type": "application/json" },
    });
  });

  it("is about the fleet of the client, whose name has to be one", async () => {
    const { sent, fetch } = gateway(() => json(buildStatus({ state: "paused" })));

    await createClient({ url, fleet: "staging", fetch }).status();

    expect(sent[0]?.url).toBe(`${url}/vedette.v1.SentinelRolloutService/staging/Status`);
    expect(() => createClient({ url, fleet: "a/b" })).toThrow('"a/b" is no name of a fleet');
  });

  it("sends no authorization without a token", async () => {
    const { sent, fetch } = gateway(() => json(buildStatus()));

    await createClient({ url, fetch }).pause();

    expect(sent[0]?.init.headers).not.toHaveProperty("authorization");
  });

  it("throws a refusal with its status, code and detail, and is not repeated", async () => {
    const { sent, fetch } = gateway(() => refusal(503, "unavailable"));

    const error = await errorOf(createClient({ url, fetch }).skip({ reason: "known" }));

    expect({ ...error }).toMatchObject({
      status: 503,
      code: "unavailable",
      detail: "no: unavailable",
    });
    expect(sent).toHaveLength(1);
  });

  it.each([
    ["a page", () => new Response("<html>"), "no answer of Status"],
    ["a redirect", () => new Response("", { status: 302 }), "answered 302"],
    ["another service", () => json({ hello: 1 }), "no answer of Status"],
    ["an error of a proxy", () => new Response("bad", { status: 502 }), "answered 502"],
  ])("says so when %s answers", async (_what, answer, words) => {
    const error = await errorOf(createClient({ url, ...gateway(answer) }).status());

    expect(error).toMatchObject({
      code: "unexpected_answer",
      detail: expect.stringContaining(words),
    });
  });

  it("reads no more than 64 MiB", async () => {
    let given = 0;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            given += 1;
            controller.enqueue(new Uint8Array(1024 * 1024));
          },
        }),
      );

    const error = await errorOf(createClient({ url, ...gateway(endless) }).history());

    expect(error.detail).toContain("larger than 64 MiB");
    expect(given).toBeLessThan(80);
  });

  it("has an end, also when the answer begins and does not end", async () => {
    const stalled = ({ signal }: RequestInit) =>
      new Response(
        new ReadableStream({
          start: (controller) =>
            signal?.addEventListener("abort", () => controller.error(signal.reason)),
        }),
      );

    const error = await errorOf(
      createClient({ url, timeoutMs: 20, ...gateway(stalled) }).plan({ image }),
    );

    expect(error).toMatchObject({
      status: 0,
      code: "timeout",
      detail: expect.stringContaining("20 ms"),
    });
  });

  it("throws the reason of the caller's signal", async () => {
    const signal = AbortSignal.abort(new Error("enough"));

    const call = createClient({ url, ...gateway(hang) }).status({}, { signal });

    await expect(call).rejects.toThrow("enough");
  });

  it("says that the address cannot be reached, and why", async () => {
    const error = await errorOf(
      createClient({ url, token: "secret", ...gateway(unreachable) }).cancel(),
    );

    expect(error).toMatchObject({ status: 0, code: "unreachable" });
    expect(error.detail).toBe(`${url} cannot be reached (ECONNREFUSED)`);
  });
});

describe("a call that answers at the rollout's end", () => {
  it("is made once, under one key, however often it has to be sent", async () => {
    vi.useFakeTimers();
    const done = () => json(buildStatus({ state: "completed" }));
    const { sent, fetch } = gateway(
      unreachable,
      () => refusal(503),
      () => new Response("", { status: 504 }),
      done,
    );
    const call = createClient({ url, fetch }).rollout({ image });
    await vi.advanceTimersByTimeAsync(4_000);
    const status = await call;
    vi.useRealTimers();

    expect(status.state).toBe("completed");
    expect(new Set(sent.map(({ init }) => init.headers["idempotency-key"])).size).toBe(1);
    expect(sent).toHaveLength(4);
    expect(sent[0]?.init.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ["a conflict", () => refusal(409, "illegal_operation")],
    [
      "a registry that was away, since that refusal is kept under the key",
      () => refusal(503, "registry_unavailable"),
    ],
  ])("ends with %s", async (_what, answer) => {
    const { sent, fetch } = gateway(answer);

    await errorOf(createClient({ url, fetch }).rollout({ image }));

    expect(sent).toHaveLength(1);
  });

  it("takes the caller's key", async () => {
    const { sent, fetch } = gateway(() => json(buildStatus()));

    await createClient({ url, fetch }).resume({}, { idempotencyKey: "build-7" });

    expect(sent[0]?.init.headers["idempotency-key"]).toBe("build-7");
  });

  it("ends at its limit, and says that the rollout goes on", async () => {
    const call = createClient({ url, ...gateway(hang) }).rollout({ image }, { timeoutMs: 30 });

    const error = await errorOf(call);

    expect(error).toMatchObject({ code: "timeout", detail: expect.stringContaining("goes on") });
  });

  it("gives Vedette up that has been away for two minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { sent, fetch } = gateway(unreachable);
    const ended = errorOf(createClient({ url, fetch }).rollout({ image }));
    await vi.advanceTimersByTimeAsync(125_000);
    const error = await ended;
    vi.useRealTimers();

    expect(error.code).toBe("unreachable");
    expect(sent.length).toBeGreaterThan(100);
  });

  it("ends while it waits when the caller's signal does", async () => {
    const abort = new AbortController();
    const call = createClient({ url, ...gateway(unreachable) }).rollout(
      { image },
      { signal: abort.signal },
    );
    setTimeout(() => abort.abort(new Error("enough")), 20);

    await expect(call).rejects.toThrow("enough");
  });
});

describe("options", () => {
  it.each([
    [{ url: "rollouts.example.com" }, "give that of control"],
    [{ url: "ftp://rollouts.example.com" }, "give that of control"],
    [{ url: "https://user:pw@rollouts.example.com" }, "the token as token"],
    [{ url: "https://rollouts.example.com?x=1" }, "the token as token"],
    [{ url, token: "" }, "token is empty"],
    [{ url, token: "a b" }, "give the ingress token"],
    [{ url, timeoutMs: 0 }, "whole milliseconds"],
    [{ url, timeoutMs: 2 ** 31 }, "whole milliseconds"],
  ])("%j are refused", (options, words) => {
    expect(() => createClient(options)).toThrow(words);
  });

  it("a refusal of the token does not repeat it", () => {
    expect(() => createClient({ url, token: "se cret" })).not.toThrow(/se cret/);
  });
});
