/** Calls that fail often, on a Restate whose own settings pause them after three attempts. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createEndpointHandler, service } from "@restatedev/restate-sdk";
import { expect, it, onTestFinished } from "vitest";
import { createLog } from "#kernel/log.ts";
import { type Endpoint, serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { createRestateAdmin, resumePaused } from "#worker/restate-admin.ts";
import { startTestRestate, type TestRestate } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** Like a server without our settings, with fewer attempts. */
const parksSoon = {
  RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3",
  RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL: "20ms",
  RESTATE_DEFAULT_RETRY_POLICY__MAX_INTERVAL: "50ms",
};

const host = "127.0.0.1";

async function startRestate(): Promise<TestRestate> {
  const restate = await startTestRestate({ services: [], environment: parksSoon });
  onTestFinished(restate.stop);
  return restate;
}

/** Fails until it is repaired; has no retry policy of its own. */
function aFailingService() {
  const state = { isMended: false, attempts: 0, ended: 0 };
  const failing = service({
    name: "vedette.v1.Failing",
    handlers: {
      run: async () => {
        state.attempts += 1;
        if (!state.isMended) throw new Error("not yet");
        state.ended += 1;
      },
    },
  });
  return { state, failing };
}

async function serve(failing: ReturnType<typeof aFailingService>["failing"], port = 0) {
  const endpoint = await serveEndpoint({ host, port, services: [failing], identityKeys: [], log });
  onTestFinished(() => endpoint.stop());
  return endpoint;
}

/** As served by a version without a retry policy. */
async function serveWithoutPolicy(failing: ReturnType<typeof aFailingService>["failing"]) {
  const server = createServer(createEndpointHandler({ services: [failing], logger: () => {} }));
  const sessions = new Set<{ destroy: () => void }>();
  server.on("session", (session) => sessions.add(session));
  server.listen(0, host);
  await once(server, "listening");
  const stop = async () => {
    server.close();
    for (const session of sessions) session.destroy();
  };
  onTestFinished(stop);
  const { port } = server.address() as AddressInfo;
  return { url: `http://${host}:${port}`, stop } satisfies Endpoint;
}

async function send({ ingressUrl }: TestRestate) {
  const answer = await fetch(`${ingressUrl}/vedette.v1.Failing/run/send`, { method: "POST" });
  expect(answer.status).toBe(202);
}

async function readInvocation({ adminUrl }: TestRestate) {
  const answer = await fetch(`${adminUrl}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: "SELECT status, retry_count FROM sys_invocation" }),
  });
  const { rows } = (await answer.json()) as { rows: { status: string; retry_count: number }[] };
  return rows[0];
}

it("a call that fails more often than the server would retry it succeeds in the end", async () => {
  const restate = await startRestate();
  const { state, failing } = aFailingService();
  const endpoint = await serve(failing);
  await registerWorker({ adminUrl: restate.adminUrl, workerUrl: endpoint.url, revision: "1" });
  await send(restate);

  await waitFor(() => state.attempts > 5, { withinMs: 30_000, what: "the sixth attempt" });
  state.isMended = true;

  await waitFor(() => state.ended === 1, { withinMs: 30_000, what: "the call" });
});

it("a call continues after the worker was away for more attempts than the server would make", async () => {
  const restate = await startRestate();
  const { state, failing } = aFailingService();
  const endpoint = await serve(failing);
  await registerWorker({ adminUrl: restate.adminUrl, workerUrl: endpoint.url, revision: "1" });
  await endpoint.stop();
  await send(restate);
  await waitFor(async () => ((await readInvocation(restate))?.retry_count ?? 0) > 5, {
    withinMs: 30_000,
    what: "attempts to reach the worker",
  });
  state.isMended = true;

  await serve(failing, Number(new URL(endpoint.url).port));

  await waitFor(() => state.ended === 1, { withinMs: 30_000, what: "the call" });
});

it("a call that was paused while an earlier version served it is resumed", async () => {
  const restate = await startRestate();
  const { adminUrl } = restate;
  const { state, failing } = aFailingService();
  const earlier = await serveWithoutPolicy(failing);
  await registerWorker({ adminUrl, workerUrl: earlier.url, revision: "1" });
  await send(restate);
  await waitFor(async () => (await readInvocation(restate))?.status === "paused", {
    withinMs: 30_000,
    what: "the call to be parked",
  });
  await earlier.stop();
  state.isMended = true;
  const endpoint = await serve(failing, Number(new URL(earlier.url).port));
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "2" });

  await resumePaused(createRestateAdmin(adminUrl), log);

  await waitFor(() => state.ended === 1, { withinMs: 30_000, what: "the call" });
});

it("nothing is resumed, and no error thrown, when Restate is down", async () => {
  await expect(resumePaused(createRestateAdmin(`http://${host}:9`), log)).resolves.toBeUndefined();
});
