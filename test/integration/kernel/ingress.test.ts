/** The addresses and errors of Restate's own ingress, by its real server. */
import { type ObjectContext, object, service, TerminalError } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CallRefusedError,
  callRestate,
  errorSourceOf,
  ingressPath,
  patience,
  sendToRestate,
} from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { startTestRestate, type TestRestate } from "../../support/servers/servers.ts";

let restate: TestRestate;
const noted: string[] = [];

const keyed = object({
  name: "test.Keyed",
  handlers: {
    note: async (ctx: ObjectContext, text: unknown) => {
      noted.push(`${ctx.key} ${JSON.stringify(text)}`);
      return { noted: text };
    },
  },
});

const failing = service({
  name: "test.Failing",
  handlers: {
    refuse: async () => {
      throw new TerminalError("not now", { errorCode: 409 });
    },
    lack: async () => {
      throw new TerminalError("no such thing", { errorCode: 404 });
    },
    end: async () => {
      throw new TerminalError("it broke", { errorCode: 503 });
    },
  },
});

const hidden = service({
  name: "test.Hidden",
  handlers: { any: async () => 1 },
  options: { ingressPrivate: true },
});

beforeAll(async () => {
  restate = await startTestRestate({ services: [keyed, failing, hidden] });
  await registerAbsentWorker();
});

afterAll(() => restate?.stop());

/** Restate knows a worker that has gone. */
async function registerAbsentWorker(): Promise<void> {
  const log = createLog({ level: "silent", format: "json" });
  const services = [service({ name: "test.Absent", handlers: { any: async () => 1 } })];
  const worker = await serveEndpoint({
    ...{ host: "127.0.0.1", port: 0, services, identityKeys: [], log },
  });
  const { adminUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "absent" });
  await worker.stop();
}

const post = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${restate.ingressUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '"one"',
  });

const failureOf = (path: string, timeoutMs?: number) =>
  callRestate({ ingressUrl: restate.ingressUrl, path }, {}, timeoutMs).then(
    () => "answered",
    (error: Error) => error,
  );

describe("ingressPath", () => {
  it("gives the address of a call, which Restate answers with the result", async () => {
    const answer = await post(ingressPath("/test.Keyed/a/note"));

    expect([answer.status, await answer.json()]).toEqual([200, { noted: "one" }]);
  });

  it("gives the address of a send, which Restate answers with the invocation", async () => {
    const answer = await post(ingressPath("/test.Keyed/a/note/send"));

    expect([answer.status, await answer.json()]).toEqual([
      202,
      { invocationId: expect.stringMatching(/^inv_/), status: "Accepted" },
    ]);
  });

  it.each(["", "/send"])("attaches to a call of the deprecated address (%j)", async (way) => {
    const key = { "idempotency-key": `both${way}` };
    const old = await post(`/test.Keyed/both/note${way}`, key);
    const now = await post(ingressPath(`/test.Keyed/both/note${way}`), key);

    expect(now.headers.get("x-restate-id")).toBe(old.headers.get("x-restate-id"));
  });
});

it("sendToRestate has a call made with its key and its body", async () => {
  const at = { ingressUrl: restate.ingressUrl, path: "/test.Keyed/sent/note" };
  await sendToRestate(at, { is: "text" }, patience.caller);

  await expect.poll(() => noted).toContain(`sent {"is":"text"}`);
});

it("callRestate returns the text of the answer", async () => {
  const at = { ingressUrl: restate.ingressUrl, path: "/test.Keyed/b/note" };

  expect(JSON.parse(await callRestate(at, { deep: 1 }))).toEqual({ noted: { deep: 1 } });
});

describe("errorSourceOf", () => {
  it.each([
    ["/test.Failing/refuse", 409, "invocation"],
    ["/test.Failing/lack", 404, "invocation"],
    ["/test.Failing/end", 503, "invocation"],
    ["/test.Nobody/any", 404, "ingress"],
    ["/test.Failing/unknown", 404, "ingress"],
    ["/test.Failing/unknown/send", 404, "ingress"],
    ["/test.Hidden/any", 400, "ingress"],
    ["/test.Keyed/a/note", 200, undefined],
  ])("reads who refused %s", async (path, status, source) => {
    const answer = await post(ingressPath(path));
    const { source: ofBody } = (await answer.json()) as { source?: string };

    expect([answer.status, errorSourceOf(Object.fromEntries(answer.headers))]).toEqual([
      status,
      source,
    ]);
    expect(ofBody).toBe(source);
  });
});

describe("a call that fails", () => {
  it.each([
    [
      "/test.Failing/refuse",
      true,
      "/test.Failing/refuse failed inside the worker with 409: not now",
    ],
    ["/test.Failing/end", false, "/test.Failing/end failed inside the worker with 503: it broke"],
    [
      "/test.Nobody/any",
      false,
      "no worker has registered /test.Nobody/any at Restate: service 'test.Nobody' not found, make sure to register the service before calling it.",
    ],
    [
      "/test.Hidden/any",
      false,
      "Restate's ingress answered 400 to /test.Hidden/any: the invoked service is not public",
    ],
  ])("says who refused it (%s)", async (path, isFinal, message) => {
    const error = await failureOf(path);

    expect(error).toBeInstanceOf(CallRefusedError);
    expect(error).toMatchObject({ message, isFinal });
  });

  it("says that no worker answers, when Restate has taken the call", async () => {
    expect(await failureOf("/test.Absent/any", 1_500)).toMatchObject({
      message: "Restate has /test.Absent/any, but no worker has answered in time",
    });
  });

  it("says that the ingress does not answer, when there is none", async () => {
    const at = { ingressUrl: "http://127.0.0.1:1", path: "/test.Keyed/a/note" };

    await expect(callRestate(at, {})).rejects.toThrow(
      "Restate's ingress does not answer (/test.Keyed/a/note)",
    );
  });
});
