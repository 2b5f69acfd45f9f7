/** Sessions of the command line at Restate's guarded addresses. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { readConfig } from "#config.ts";
import { createIngressFront } from "#control/front/front.ts";
import { createProvider } from "#control/sign-in/provider.ts";
import { createSignIn } from "#control/sign-in/sign-in.ts";
import { createFindCaller, createIdentify } from "#control/token.ts";
import { createLog } from "#kernel/log.ts";
import { roles } from "#kernel/roles.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";
import { createMemoryLogouts, statusPath } from "../../support/program/sign-in-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A front with a Restate that answers everything but `attachPath`. */
async function startFront() {
  const reached: unknown[] = [];
  const restate = createServer((request, response) => {
    reached.push(request.headers["x-vedette-actor"]);
    if (request.url !== attachPath) response.end("{}");
  });
  const environment = {
    VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
    VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
  };
  const { oidc, operators } = readConfig({ environment }).control;
  const log = createLog({ level: "silent", format: "json" });
  const logouts = createMemoryLogouts();
  const provider = createProvider(oidc);
  const secret = Buffer.alloc(32);
  const signIn = createSignIn({
    oidc,
    operators,
    provider,
    names: createMemoryNames(),
    secret,
    logouts,
    log,
  });
  const restateUrl = await listen(restate);
  const front = createIngressFront({
    ingressUrl: restateUrl,
    adminUrl: restateUrl,
    identify: createFindCaller(createIdentify({ ingressToken: "shared" }), signIn.find),
    actorKey: new Uint8Array(32),
    log,
  });
  const url = await listen(front.server);
  onTestFinished(async () => {
    await front.close();
    front.server.close();
    restate.close();
  });
  const session = signIn.core.people.start({ actor: "ada", roles: [...roles] }, Date.now());
  const reading = signIn.core.people.start({ actor: "ada", roles: ["read"] }, Date.now());
  const call = async (path: string, of = reading) => {
    const bearer = signIn.bearers.seal(of);
    const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    return (await fetch(`${url}${path}`, { method: "POST", headers, body: "{}" })).status;
  };
  return { call, reached, logouts, session, reading };
}

/** A call that is in no allow-list, and waits for as long as a rollout takes. */
const attachPath = "/restate/invocation/inv_1/attach";

it("are accepted with their roles, until they are signed out", async () => {
  const { call, reached, logouts, reading } = await startFront();

  const before = [await call(statusPath), await call(statusPath.replace("Status", "Cancel"))];
  await logouts.add(reading);
  const after = await call(statusPath);

  expect([...before, after]).toEqual([200, 403, 401]);
  expect(reached).toEqual(["ada"]);
});

it("get no answer that comes after they are signed out", async () => {
  const { call, reached, logouts, session, reading } = await startFront();
  const waiting = call(attachPath, session).catch((error: Error) => error);
  await waitFor(async () => reached.length === 1, { withinMs: 5_000, what: "the call" });

  await logouts.add(session);

  expect(await waiting).toMatchObject({ message: "fetch failed" });
  expect(await call(statusPath, reading)).toBe(200);
});
