/** After a start with other settings nothing of before counts: no token, key or session, and no check that is stored. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { emptySet } from "#definitions/rows/contract.ts";
import { Credentials } from "#embedded/contract.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const replaced = {
  VEDETTE_CONTROL__INGRESS_TOKEN: "another-ingress-token-of-forty-letters-ab",
  VEDETTE_API__ROOT_KEY: "another-root-key-of-more-than-forty-letters",
  VEDETTE_API__ROOT_KEY_GRACE_SECONDS: "0",
};
const status = "/vedette.v1.SentinelRolloutService/singleton/Status";
const check = {
  ...{ id: "neighbour", kind: "tcp", environment: "staging", channels: [], frequencySeconds: 10 },
  ...{ host: "127.0.0.1", send: "GET /metrics HTTP/1.0\r\n\r\n", expect: "200 OK" },
};

let program: Program;
let cookie: string;
let before: { token: string; rootKey: string };
let port: number;

const reasons = async () => {
  const asked = { check: check.id, limit: 1 };
  const as = replaced.VEDETTE_CONTROL__INGRESS_TOKEN;
  const { body } = await program.post("vedette.v1.CheckReads/History", asked, as);
  return (body["results"] as { reason: string | null }[] | undefined)?.[0]?.reason ?? "";
};

const signIn = (token: string) =>
  fetch(`${program.endpoints().control}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });

const call = async (url: string, authorization: string, body: object = {}) => {
  const headers = { authorization, "content-type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
};

beforeAll(async () => {
  program = await startProgram();
  const file = readFileSync(path.join(program.dataDir, "credentials.json"), "utf8");
  const { ingress_token: token, root_key: rootKey } = Credentials.parse(JSON.parse(file));
  before = { token, rootKey };
  cookie = (await signIn(token)).headers.get("set-cookie")?.split(";")[0] ?? "";
  const neighbour = createServer((_, response) => response.end("ok"));
  await new Promise<void>((resolve) => neighbour.listen(0, "127.0.0.1", resolve));
  ({ port } = neighbour.address() as AddressInfo);
  const definitions = { ...emptySet, checks: [{ ...check, port }] };
  const applied = await program.post("vedette.v1.Definitions/singleton/Apply", { definitions });
  expect(applied.status).toBe(200);
  await waitFor(
    async () => {
      const asked = { check: check.id, limit: 1 };
      const { body } = await program.post("vedette.v1.CheckReads/History", asked);
      return JSON.stringify(body).includes('"ok"');
    },
    { withinMs: 60_000, what: "the check to reach its neighbour" },
  );
  await program.stop();
  neighbour.close();
  await program.start({ ...replaced, VEDETTE_METRICS__PORT: String(port) });
});

afterAll(() => program?.dispose());

it("a stored check does not connect to a part that listens at its port now", async () => {
  expect(new URL(program.endpoints().metrics ?? "").port).toBe(String(port));

  await waitFor(async () => (await reasons()).includes("one of Vedette's own services (metrics)"), {
    withinMs: 60_000,
    what: "the check to be refused",
  });
});

it("the ingress token of before opens no address, and no session of it is left", async () => {
  const { control, restate_ingress, restate_admin } = program.endpoints();
  const addresses = [control, `${restate_ingress}`, `${restate_admin}/ingress`];
  const statusesOf = (token: string) =>
    Promise.all(addresses.map((address) => call(`${address}${status}`, `Bearer ${token}`)));
  const pages = ["session", "events"].map(async (page) => {
    const answer = await fetch(`${control}/console/api/${page}`, { headers: { cookie } });
    await answer.body?.cancel();
    return answer.status;
  });

  expect(await statusesOf(before.token)).toEqual([401, 401, 401]);
  expect(await Promise.all(pages)).toEqual([401, 401]);
  expect((await signIn(before.token)).status).toBe(401);
  expect(await statusesOf(replaced.VEDETTE_CONTROL__INGRESS_TOKEN)).toEqual([200, 200, 200]);
});

it("the root key of before is refused, and the one of the settings is not", async () => {
  const url = `${program.endpoints().api}/v2/apis.getApi`;
  const statusOf = (key: string) => call(url, `Bearer ${key}`, { apiId: "api_none" });

  const statuses = [await statusOf(before.rootKey), await statusOf(replaced.VEDETTE_API__ROOT_KEY)];

  expect(statuses).toEqual([401, 404]);
});
