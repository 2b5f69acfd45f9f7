/** Secrets of the settings, which no form of the masks has, before servers and proxies that repeat what they were sent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createAttempt } from "#alerts/attempt.ts";
import { createAskWebhook } from "#alerts/channels/webhook.ts";
import type { RoutedOrder } from "#alerts/order.ts";
import { createAsk } from "#ci/commit/api.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { createReach } from "#kernel/reach.ts";
import { gradeAnswer } from "#rollout/gates/prometheus.ts";
import { createQueryPrometheus } from "#rollout/gates/query-prometheus.ts";
import { gradeWebhookAnswer } from "#rollout/gates/webhook.ts";
import { connectRunning } from "#routing/alertmanager/running.ts";
import { callOnce, createSend } from "#routing/incident/transport.ts";
import { createSourceTokens } from "#routing/tokens/source-tokens.ts";
import { buildOrder, noLinks } from "../../support/alerts/alert-builders.ts";

const secret = "green egret dives 82";

/** `told`: the authorization that was sent. */
async function serve(
  answer: (told: string, path: string) => { status?: number; body: unknown },
  write: (body: unknown) => string = JSON.stringify,
) {
  const got: string[] = [];
  const server = createServer((request, response) => {
    const told = request.headers.authorization ?? "";
    got.push(told);
    const { status = 200, body } = answer(told, request.url ?? "");
    response.writeHead(status, { "content-type": "application/json" }).end(write(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

it("a refusal of the incident service that repeats the key is read without it", async () => {
  const answer = (told: string) => ({
    status: 400,
    body: { errors: [{ message: `no: ${told}` }] },
  });
  const { url, got } = await serve(answer);

  const reply = await callOnce(createSend({ url, apiKey: secret }), { method: "GET", path: "/" });

  expect(got).toEqual([`Bearer ${secret}`]);
  expect(reply).toMatchObject({ reason: "the incident service answered 400 (no: Bearer ***)" });
});

it("other secrets in a refusal of the incident service are masked", async () => {
  const message = "of vedette_root_abcdefghijkl";
  const { url } = await serve(() => ({ status: 400, body: { errors: [{ message }] } }));

  const reply = await callOnce(createSend({ url, apiKey: secret }), { method: "GET", path: "/" });

  expect(reply).toMatchObject({ reason: "the incident service answered 400 (of ***)" });
});

it("an id of a request has neither the key nor what a terminal acts on", async () => {
  const { url } = await serve((told) => ({
    status: 400,
    body: { request_id: `\u001b[2J\u202e${told.slice(7)}` },
  }));
  const source = { kind: "http" as const, id: "01S", title: "a" };
  const tokens = createSourceTokens({ url, apiKey: secret, attempts: 1 });

  const reply = await callOnce(createSend({ url, apiKey: secret }), { method: "GET", path: "/" });

  expect(reply).toMatchObject({ reason: "the incident service answered 400 (request  ***)" });
  await expect(tokens.read(source)).rejects.toThrow("request  ***)");
});

it("an alert's delivery whose answer has the token as its codes is recorded without it", async () => {
  const token = "greenegret-dives-82";
  const { url } = await serve((told) => {
    const code = told.slice(7);
    return { status: 400, body: { type: code, request_id: code, errors: [{ code }] } };
  });
  const deliver = createAttempt({
    sourceOf: () => ({ url, kind: "http", readToken: () => token }),
    ...{ linkTo: noLinks, timeoutMs: 5_000, webhookUrlOf: () => "" },
    findChannel: async () => undefined,
    send: async () => ({ kind: "accepted" }),
  });

  const outcome = await deliver(buildOrder() as RoutedOrder);

  expect(outcome).toEqual({ kind: "refused", cause: "status 400" });
});

it("a route of the incident service that has the key is read without it", async () => {
  const { url } = await serve((told) => ({ body: { alert_route: { id: "01R", name: told } } }));
  const send = createSend({ url, apiKey: secret });

  const { body } = await send({ method: "GET", path: "/v2/alert_routes/01R" });

  expect(body).toEqual({ alert_route: { id: "01R", name: "Bearer ***" } });
});

it("a fleet that repeats its token in what it says of a sentinel is read without it", async () => {
  const ofGateway = { id: "gw-1", image: "r.io/a:1", deploy_id: "d1", status: "failed" };
  const { url, got } = await serve((told, path) => ({
    body: path.startsWith("/sentinels?")
      ? {
          sentinels: [
            { ...ofGateway, region: told, healthy: true, labels: { a: told, b: '{"a":[1,2]}' } },
          ],
        }
      : { ...ofGateway, reason: `crashed: ${told}` },
  }));
  const driver = createHttpDriver({ url, token: secret });
  onTestFinished(() => driver.stop());

  const [listed] = await driver.list();
  const order = { sentinelId: "gw-1", image: "r.io/a:1", deployId: "d1" };
  const { reason } = await driver.observe(order as never);

  expect(got).toEqual([`Bearer ${secret}`, `Bearer ${secret}`]);
  expect({ listed, reason }).toMatchObject({
    listed: { region: "Bearer ***", labels: { a: "Bearer ***", b: '{"a":[1,2]}' } },
    reason: "crashed: Bearer ***",
  });
});

it("a commit's status that repeats the token is read without it", async () => {
  const { url } = await serve((told) => ({ body: { statuses: [{ context: told }] } }));
  const ask = createAsk({ apiUrl: url, token: secret });

  expect(await ask("repos/a/b")).toEqual({ statuses: [{ context: "Bearer ***" }] });
});

it("an alert manager that repeats the password in its refusal is read without it", async () => {
  const { url } = await serve((told) => ({ status: 400, body: `sent ${told}` }));
  const address = url.replace("//", "//ada:Hunter-two-87@");

  const reload = connectRunning(address).reload();

  await expect(reload).rejects.toThrow('it rejects its configuration (400): "sent Basic ***');
});

it("an address with a password is in no refusal of the settings", async () => {
  const { url } = await serve(() => ({ status: 200, body: "no metrics" }));

  const state = connectRunning(url.replace("//", "//ada:hunter2@")).readState();

  await expect(state).rejects.toThrow(`${url}/metrics (200) has no metrics`);
});

it.each([
  ["of its path", "/hooks/{{HOOK}}"],
  ["of its query", "/?to={{HOOK}}"],
])(
  "a receiver that repeats the secret %s in its answer to a gate is read without it",
  async (_, path) => {
    const answer = (_told: string, at: string) => ({
      body: { result: "fail", reason: `no: ${at}` },
    });
    const { url } = await serve(answer);
    const ask = createAskWebhook({
      readChannels: async () => [{ id: "w", kind: "webhook", url: `${url}${path}` }],
      readSecret: (name) => ({ value: secret, bindings: [{ name, hosts: "127.0.0.1" }] }),
      ...{ timeoutMs: 2_000, nowMs: Date.now, reach: createReach() },
    });

    const { value } = gradeWebhookAnswer(await ask("w", { id: "q", body: "{}" }));

    expect(value).toMatch(/^fail: no: [^ ]*\*\*\*$/);
    expect(value).not.toMatch(/egret/);
  },
);

it("other secrets in what a gate reads are masked", async () => {
  const told = "of vedette_root_abcdefghijkl";
  const { url } = await serve(() => ({ status: 400, body: { status: "error", error: told } }));
  const gate = { no_data: "inconclusive" } as const;

  const queried = gradeAnswer(gate, await createQueryPrometheus({ url, token: secret })("up"));
  const asked = gradeWebhookAnswer({
    ...{ status: 200, body: JSON.stringify({ result: "pass", reason: told }) },
  });

  expect([queried.value, asked.value]).toEqual([
    "Prometheus refuses the query: of ***",
    "pass: of ***",
  ]);
});

/** As languages write JSON: each of them means the same. */
const writers: [language: string, write: (body: unknown) => string][] = [
  ["PHP", (body) => JSON.stringify(body).replaceAll("/", "\\/")],
  ["Go", (body) => JSON.stringify(body).replace(/[&<>]/g, escapeUnit)],
  ["Python", (body) => JSON.stringify(body).replace(/[\u0080-\uffff]/g, escapeUnit)],
];
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

it.each(writers)("a server in %s repeats a token in none of its answers", async (_, write) => {
  const token = "fox/owl&hen<9>\u00e9";
  const refuse = (told: string) => ({
    status: 400,
    body: { status: "error", error: `no: ${told}` },
  });
  const list = (told: string) => ({
    body: { sentinels: [{ id: "gw-1", region: told, image: "", healthy: true }] },
  });
  const [prometheus, fleet, ci] = await Promise.all([
    serve(refuse, write),
    serve(list, write),
    serve((told) => ({ body: { told } }), write),
  ]);
  const driver = createHttpDriver({ url: fleet.url, token });
  onTestFinished(() => driver.stop());

  const said = JSON.stringify([
    await createQueryPrometheus({ url: prometheus.url, token })("up"),
    await driver.list(),
    await createAsk({ apiUrl: ci.url, token })("x"),
  ]);

  expect(said.match(/\*\*\*/g)).toHaveLength(3);
  expect(said).not.toMatch(/owl/);
});

it.each(writers)("a receiver in %s repeats no secret of a channel to a gate", async (_, write) => {
  const told: string[] = [];
  const answer = (authorization: string, path: string) => {
    told.push(authorization);
    const sent = Buffer.from(authorization.slice(6), "base64");
    return { body: { result: "fail", reason: `${authorization.slice(6)} ${sent} ${path}` } };
  };
  const { url } = await serve(answer, write);
  const ask = createAskWebhook({
    readChannels: async () => [
      { id: "w", kind: "webhook", url: url.replace("//", "//ada:{{PASSWORD}}@") },
    ],
    readSecret: (name) => ({ value: "fox/owl&hen<9>", bindings: [{ name, hosts: "127.0.0.1" }] }),
    ...{ timeoutMs: 2_000, nowMs: Date.now, reach: createReach() },
  });

  const { value } = gradeWebhookAnswer(await ask("w", { id: "q", body: "{}" }));

  expect(told).toEqual([`Basic ${Buffer.from("ada:fox/owl&hen<9>").toString("base64")}`]);
  expect(value).toMatch(/^fail: /);
  expect(value).not.toMatch(/owl|Zm94L293|mb3gvb3ds|m94L293b/);
});
