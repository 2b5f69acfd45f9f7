/** An idempotency key stands for one call: two gateways over one Postgres, and one without it. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createIsKeyReused } from "#control/call-keys.ts";
import { createControl } from "#control/control.ts";
import { createIngressFront } from "#control/front/front.ts";
import { createIdentify } from "#control/token.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const log = createLog({ level: "silent", format: "json" });
const rollout = "/vedette.v1.SentinelRolloutService/singleton/Rollout";
const resume = "/vedette.v1.SentinelRolloutService/singleton/Resume";
const check = "/vedette.v1.ApiCheck/verify-key";
const first = { image: "registry.example.com/a:v1" };
const second = { image: "registry.example.com/a:v2" };

/** Answers the paths that reached Restate. */
async function startIngress() {
  const reached: string[] = [];
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on("end", () => {
      reached.push(incoming.url ?? "");
      outgoing.end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { reached, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function startGateway(ingressUrl: string, over: Database) {
  const isKeyReused = createIsKeyReused(over, log);
  const control = createControl({ ingressUrl, ingressToken: "t", log, isKeyReused });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => control.close());
  return async (path: string, key: string, body: object) => {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        authorization: "Bearer t",
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

it("refuses a key that came with another body, at another gateway and as a send too", async () => {
  const { url, reached } = await startIngress();
  const [one, other] = [await startGateway(url, database()), await startGateway(url, database())];
  await one(rollout, "key-1", first);

  const refused = [
    await one(rollout, "key-1", second),
    await other(rollout, "key-1", second),
    await other(`${rollout}/send`, "key-1", second),
  ];

  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422]);
  expect(refused[0]?.body).toMatchObject({
    type: "urn:vedette:problem:idempotency_key_reused",
    detail: expect.stringContaining("nothing was started"),
  });
  expect(reached).toEqual([ingressPath(rollout)]);
});

it("accepts a key again with the same body, and with another body for another handler", async () => {
  const { url } = await startIngress();
  const call = await startGateway(url, database());

  const answers = [
    await call(rollout, "key-2", first),
    await call(rollout, "key-2", first),
    await call(`${check}/Unmute`, "key-2", {}),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
});

it("accepts one of two bodies that come with the same key at once", async () => {
  const { url, reached } = await startIngress();
  const call = await startGateway(url, database());

  const answers = await Promise.all([first, second].map((body) => call(rollout, "key-3", body)));

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  expect(reached).toHaveLength(1);
});

it("forgets a key that was not seen for a week", async () => {
  const { url } = await startIngress();
  const call = await startGateway(url, database());
  await call(rollout, "key-4", first);
  await database().query("UPDATE control_call_keys SET seen_at = now() - interval '8 days'");

  await call(rollout, "key-5", first);

  const { rows } = await database().query("SELECT count(*)::int AS keys FROM control_call_keys");
  expect(rows).toEqual([{ keys: 1 }]);
});

it("accepts another body for a key that was not seen for a week", async () => {
  const { url } = await startIngress();
  const call = await startGateway(url, database());
  await call(rollout, "key-7", first);
  await database().query("UPDATE control_call_keys SET seen_at = now() - interval '8 days'");

  expect((await call(rollout, "key-7", second)).status).toBe(200);
  expect((await call(rollout, "key-7", first)).status).toBe(422);
});

it("refuses no call while Postgres is away", async () => {
  const { url } = await startIngress();
  const away = openDatabase("postgres://nobody@127.0.0.1:1/none", log);
  onTestFinished(() => away.end());
  const call = await startGateway(url, away);

  expect((await call(rollout, "key-6", first)).status).toBe(200);
});

it("makes no call for a caller that disconnected while the key was looked up", async () => {
  const { url, reached } = await startIngress();
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<boolean>();
  const isKeyReused = () => {
    asked.resolve();
    return gate.promise;
  };
  const control = createControl({ ingressUrl: url, ingressToken: "t", log, isKeyReused });
  const connected = once(control.server, "connection") as Promise<[Socket]>;
  const address = await control.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => control.close());
  const leaving = new AbortController();
  const call = fetch(`${address}${resume}`, {
    method: "POST",
    headers: { authorization: "Bearer t", "idempotency-key": "key-8" },
    signal: leaving.signal,
  });
  const [socket] = await connected;
  await asked.promise;

  leaving.abort();
  await Promise.all([expect(call).rejects.toThrow(), once(socket, "close")]);
  gate.resolve(false);
  // The answer to a later call comes after anything that the earlier one has sent.
  await fetch(`${address}${resume}`, { method: "POST", headers: { authorization: "Bearer t" } });

  expect(reached).toEqual([ingressPath(resume)]);
});

/** Restate's guarded ingress; the token "t" may do everything, "of-ada" may operate. */
async function startFront(ingressUrl: string) {
  const token = createHash("sha256").update("of-ada").digest("hex");
  const front = createIngressFront({
    ...{ ingressUrl, adminUrl: ingressUrl, log, actorKey: new Uint8Array(32) },
    identify: createIdentify({
      ingressToken: "t",
      operators: { ada: { token, roles: ["operate"] } },
    }),
    isKeyReused: createIsKeyReused(database(), log),
  });
  front.server.listen(0, "127.0.0.1");
  await once(front.server, "listening");
  onTestFinished(async () => {
    await front.close();
    front.server.close();
  });
  const { port } = front.server.address() as AddressInfo;
  return async (bearer: string, key: string, body: object, path = rollout) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${bearer}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body, null, 1),
    });
    return { status: answer.status, body: (await answer.json()) as { code?: string } };
  };
}

it.each(["t", "of-ada"])(
  "Restate's guarded ingress refuses a key that came with another body to the bearer %s",
  async (bearer) => {
    const { url, reached } = await startIngress();
    const call = await startFront(url);
    await call(bearer, `front-${bearer}`, first);

    const refused = await call(bearer, `front-${bearer}`, second, `${rollout}/send`);

    expect([refused.status, refused.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(reached).toEqual([ingressPath(rollout)]);
  },
);

it("Restate's guarded ingress accepts a key again with the same body, and from another caller", async () => {
  const { url } = await startIngress();
  const call = await startFront(url);

  const answers = [
    await call("of-ada", "front-3", first),
    await call("of-ada", "front-3", first),
    await call("t", "front-3", second),
    await call("of-ada", "front-3", {}, resume),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});
