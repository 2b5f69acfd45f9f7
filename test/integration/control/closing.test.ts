/** Calls that have started when the gateway closes, and callers that do not read. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { createControl } from "#control/control.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { waitFor } from "../../support/wait-for.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";

/** An ingress that answers when the test says so. */
async function startIngress() {
  const waiting = new Map<string, ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    waiting.set(request.url ?? "", response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    hasTaken: (handler: string) => waiting.has(ingressPath(`${rollout}/${handler}`)),
    answer: (handler: string) =>
      waiting.get(ingressPath(`${rollout}/${handler}`))?.end(JSON.stringify({ said: handler })),
  };
}

let ingress: Awaited<ReturnType<typeof startIngress>>;
let graceMs: number | undefined;
let silenceMs: number | undefined;
let control: ReturnType<typeof createControl>;

beforeEach(async () => {
  graceMs = undefined;
  silenceMs = undefined;
  ingress = await startIngress();
});

afterEach(() => control.close());

const startControl = () => {
  control = createControl({
    ingressUrl: ingress.url,
    ingressToken: "t",
    log: createLog({ level: "silent", format: "json" }),
    ...(graceMs !== undefined && { closeGraceMs: graceMs }),
    ...(silenceMs !== undefined && { silenceMs }),
    console: () => async (app) => {
      app.get("/large", async () => Buffer.alloc(32 * 1024 * 1024));
    },
  });
  return control.listen({ host: "127.0.0.1", port: 0 });
};

/** Begins a call, and resolves once Restate has it. */
async function begin(url: string, handler: string, body: object = {}) {
  const answered = fetch(`${url}${rollout}/${handler}`, {
    method: "POST",
    headers: { authorization: "Bearer t", "content-type": "application/json" },
    body: JSON.stringify(body),
  }).then(
    async (answer) => ({ status: answer.status, body: await answer.json() }),
    () => "cut off" as const,
  );
  await waitFor(() => ingress.hasTaken(handler), { withinMs: 10_000, what: "the call to arrive" });
  return { answered };
}

const begun = { image: "registry.example.com/a:v1" };

it.each(["Status", "Cancel", "Rollout/send"])(
  "answers a %s that has started when it closes",
  async (handler) => {
    const url = await startControl();
    const { answered } = await begin(url, handler, handler === "Rollout/send" ? begun : {});

    const closed = control.close();
    await refusesConnections(url);
    ingress.answer(handler);

    expect(await answered).toMatchObject({ body: { said: handler } });
    await closed;
  },
);

it("does not wait for a Rollout, which may take hours", async () => {
  graceMs = 3_600_000;
  const { answered } = await begin(await startControl(), "Rollout", begun);

  await control.close();

  expect(await answered).toBe("cut off");
});

it("aborts a call that Restate does not answer when the grace is over", async () => {
  graceMs = 100;
  const { answered } = await begin(await startControl(), "Status");

  await control.close();

  expect(await answered).toBe("cut off");
});

it("does not wait for idle connections", async () => {
  graceMs = 3_600_000;
  const { port, hostname } = new URL(await startControl());
  const idle = connect(Number(port), hostname);
  idle.on("error", () => {});
  await once(idle, "connect");
  idle.write("GET /healthz HTTP/1.1\r\n");

  await control.close();

  await waitFor(() => idle.closed, { withinMs: 10_000, what: "the connection to be closed" });
});

it("closes a connection that does not read its answer, and none that waits for a long one", async () => {
  silenceMs = 100;
  const url = await startControl();
  const { answered } = await begin(url, "Rollout", begun);
  const taken = once(control.server, "connection") as Promise<[Socket]>;
  const { port, hostname } = new URL(url);
  const reader = connect(Number(port), hostname);
  reader.on("error", () => {});
  reader.pause().write("GET /console/large HTTP/1.1\r\nhost: x\r\n\r\n");
  const [socket] = await taken;

  await waitFor(() => socket.destroyed, { withinMs: 10_000, what: "the reader to be cut off" });
  ingress.answer("Rollout");

  expect(await answered).toMatchObject({ status: 200 });
  reader.destroy();
});

/** Resolves once the gateway takes no connection any more. */
function refusesConnections(url: string): Promise<true> {
  const isRefused = () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    );
  return waitFor(isRefused, { withinMs: 10_000, what: "the gateway to take no connection" });
}
