/** Of two programs on one machine neither takes what the other has made, and none takes what was revoked. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeToken } from "#cli/token.ts";
import { Credentials } from "#embedded/contract.ts";
import { sendRaw } from "../../support/http/raw-request.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let own: Program;
let other: Program;

beforeAll(async () => {
  [own, other] = await Promise.all([startProgram(), startProgram()]);
});

afterAll(() => Promise.all([own?.dispose(), other?.dispose()]));

const credentialsOf = ({ dataDir }: Program) =>
  Credentials.parse(JSON.parse(readFileSync(path.join(dataDir, "credentials.json"), "utf8")));

type Call = { method?: string; token?: string; cookie?: string; body?: object };

const call = async (url: string, { method = "POST", token, cookie, body = {} }: Call) => {
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(cookie !== undefined && { cookie }),
  };
  const isBare = method === "GET" || method === "HEAD";
  const answer = await fetch(url, {
    method,
    headers,
    ...(!isBare && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
};

const statusPath = "/vedette.v1.SentinelRolloutService/singleton/Status";
const heartbeat = "quota-check-staging";

const register = (program: Program, hash: string) =>
  program.post(`vedette.v1.Heartbeat/${heartbeat}/Register`, { token_hash: hash });

/** What one program has made, and how it takes it. */
async function triesOf(
  program: Program,
): Promise<Record<string, (at: Program) => Promise<number>>> {
  const { ingress_token: token, root_key, sentinel_key, check_key } = credentialsOf(program);
  const [runner, ping] = [makeToken(), makeToken()];
  await program.post("vedette.v1.MonitorRunners/Add", { location: "fra", token_hash: runner.hash });
  await register(program, ping.hash);
  const { cookie } = await call(`${program.endpoints().control}/console/api/session`, {
    body: { token },
  });
  const at =
    (of: (endpoints: ReturnType<Program["endpoints"]>) => string, given: Call) =>
    async (there: Program) =>
      (await call(of(there.endpoints()), given)).status;
  const key = (rootKey: string) => ({ token: rootKey, body: { key: "none" } });
  return {
    "control by its token": at(({ control }) => `${control}${statusPath}`, { token }),
    "Restate by its token": at(({ restate_ingress }) => `${restate_ingress}${statusPath}`, {
      token,
    }),
    "Restate's interface by its token": at(({ restate_admin }) => `${restate_admin}/health`, {
      method: "GET",
      token,
    }),
    "a session by its token": at(({ control }) => `${control}/console/api/session`, {
      body: { token },
    }),
    "the console by its cookie": at(({ control }) => `${control}/console/api/session`, {
      method: "GET",
      cookie,
    }),
    "work by a runner's token": at(({ control }) => `${control}/runner/work`, {
      token: runner.token,
    }),
    "a ping by its address": at(({ control }) => `${control}/${ping.token}`, { method: "GET" }),
    "a ping by HEAD": at(({ control }) => `${control}/${ping.token}/fail`, { method: "HEAD" }),
    "a key by its root key": at(({ api }) => `${api}/v2/keys.verifyKey`, key(root_key)),
    "a key by its sentinels' key": at(({ api }) => `${api}/v2/keys.verifyKey`, key(sentinel_key)),
    "a key by its checks' key": at(({ api }) => `${api}/v2/keys.verifyKey`, key(check_key)),
  };
}

const statusesOf = async (tries: Awaited<ReturnType<typeof triesOf>>, at: Program) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(tries).map(async ([what, attempt]) => [what, await attempt(at)]),
    ),
  ) as Record<string, number>;

it("a program takes what it has made, and nothing that another one of this machine has", async () => {
  const tries = await triesOf(own);

  const [there, here] = [await statusesOf(tries, other), await statusesOf(tries, own)];

  expect(Object.entries(here).filter(([, status]) => status >= 300)).toEqual([]);
  expect(Object.entries(there).filter(([, status]) => status !== 401 && status !== 404)).toEqual(
    [],
  );
});

it("a command sends the token of its data directory to no other program of this machine", async () => {
  const environment = { VEDETTE_DATA_DIR: own.dataDir };
  const args = (program: Program) => ["rollout", "status", "--url", program.endpoints().control];

  const [elsewhere, here] = await Promise.all([
    runVedette(args(other), environment),
    runVedette(args(own), environment),
  ]);

  expect(elsewhere.stderr).toContain("no token for");
  expect(here.code).toBe(0);
});

it("tokens that were replaced or removed are refused at once, by every form of their address", async () => {
  const { control } = own.endpoints();
  const [first, second, ping, next] = [makeToken(), makeToken(), makeToken(), makeToken()];
  const add = (hash: string) =>
    own.post("vedette.v1.MonitorRunners/Add", { location: "ams", token_hash: hash });
  const work = async ({ token }: { token: string }) =>
    (await call(`${control}/runner/work`, { token })).status;
  const pings = ({ token }: { token: string }) =>
    Promise.all(
      ["", "/", "/0", "/start", "/fail", "/255/"].flatMap((end) =>
        // A token takes 20 a second; the answer to more says nothing of who may.
        ["GET", "HEAD", "POST"].map((method) =>
          waitFor(
            async () => {
              const { status } = await call(`${control}/${token}${end}`, { method });
              return status !== 429 && status;
            },
            { withinMs: 30_000, what: "a ping within the limit" },
          ),
        ),
      ),
    );
  await add(first.hash);
  await register(own, ping.hash);
  const before = [await work(first), ...(await pings(ping))];
  await add(second.hash);
  await register(own, next.hash);
  const replaced = [await work(first), ...(await pings(ping))];
  const after = [await work(second), ...(await pings(next))];
  await own.post("vedette.v1.MonitorRunners/Remove", { location: "ams" });

  expect(new Set(before)).toEqual(new Set([200]));
  expect(new Set(after)).toEqual(new Set([200]));
  expect([replaced[0], ...new Set(replaced.slice(1))]).toEqual([401, 404]);
  expect(await work(second)).toBe(401);
});

it("no address of control that is nearly one reaches a handler, with a token or without", async () => {
  const pause = "/vedette.v1.SentinelRolloutService/singleton/Pause";
  const forms: [method: string, path: string][] = [
    ...["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "QUERY"].map(
      (method): [string, string] => [method, pause],
    ),
    ...[
      `${pause}.`,
      `${pause}/`,
      `${pause}%20`,
      `${pause};a=b`,
      `${pause}%2fsend`,
      `${pause}?x`,
      `/${pause}`,
      `/.${pause}`,
      `/console/..${pause}`,
      `/console/%2e%2e${pause}`,
      `/console%2f..${pause}`,
      `/sign-in/..${pause}`,
      `/runner/work/..${pause}`,
      pause.replace(/\//g, "%2f"),
      pause.toUpperCase(),
      pause.replaceAll("/", "\\"),
    ].map((one): [string, string] => ["POST", one]),
  ];
  const { control } = own.endpoints();
  const send = async (authorization: string | undefined) => {
    const headers = { "content-type": "application/json", ...(authorization && { authorization }) };
    const answers = forms.map(([method, at]) =>
      sendRaw(control, { path: at, method, headers, body: method === "HEAD" ? "" : "{}" }),
    );
    return (await Promise.all(answers)).map(({ status }, at) => [...(forms[at] ?? []), status]);
  };

  const [nobody, everybody] = [await send(undefined), await send(`Bearer ${own.token()}`)];

  expect([...nobody, ...everybody].filter(([, , status]) => Number(status) < 400)).toEqual([]);
  // "It waits for nothing that can be paused" would be the handler's own answer.
  expect(everybody.filter(([, , status]) => status === 409)).toEqual([]);
  expect((await own.call("Pause")).status).toBe(409);
});
