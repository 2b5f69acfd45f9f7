/** What a holder of `configure` can make a program that runs ask for: its own ports, its API with the key of checks. */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeToken } from "#cli/token.ts";
import { Credentials } from "#embedded/contract.ts";
import { freePort } from "../../support/free-port.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_ANALYTICS__ENABLED: "true",
    VEDETTE_METRICS__HOST: "0.0.0.0",
    VEDETTE_METRICS__PORT: String(await freePort()),
  });
  await program.askAnalytics();
});

afterAll(() => program?.dispose());

const empty = { locations: [], heartbeats: [], drills: [], sources: [], routes: [] };
const common = { environment: "staging", channels: [], frequencySeconds: 10 };

const apply = (checks: object[], channels: object[] = []) =>
  program.post("vedette.v1.Definitions/singleton/Apply", {
    definitions: { ...empty, channels, checks: checks.map((one) => ({ ...common, ...one })) },
  });

const portOf = (name: "control" | "worker" | "metrics" | "database" | "restate_ingress") =>
  Number(new URL(program.endpoints()[name] ?? "").port);

/** The port of the embedded engine, which no setting and no file names. */
const enginePort = () =>
  waitFor(
    async () => {
      const work = await fetchWork();
      return work.services.find(({ name }) => name === "analytics")?.port;
    },
    { withinMs: 60_000, what: "the engine" },
  );

const runner = makeToken();

async function fetchWork() {
  const add = { location: "fra", token_hash: runner.hash };
  await program.post("vedette.v1.MonitorRunners/Add", add);
  const answer = await fetch(`${program.endpoints().control}/runner/work`, {
    method: "POST",
    headers: { authorization: `Bearer ${runner.token}`, "content-type": "application/json" },
    body: "{}",
  });
  return (await answer.json()) as { services: { name: string; host: string; port: number }[] };
}

const channelsTo = (at: string, host: string) => [
  { id: `webhook-${at}`, kind: "webhook", url: `http://${host}/` },
  { id: `slack-${at}`, kind: "slack", url: `https://${host}/` },
  {
    ...{ id: `mail-${at}`, kind: "email", url: `smtp://${host}`, tls: "optional" },
    from,
    to: [from],
  },
];

const from = "ops@example.com";

it("no check and no channel connects to a part of the program, by any spelling of this machine", async () => {
  const ports = {
    ...{ control: portOf("control"), worker: portOf("worker"), metrics: portOf("metrics") },
    ...{ postgres: portOf("database"), restate: portOf("restate_ingress") },
    engine: await enginePort(),
  };
  const checks = Object.entries(ports).flatMap(([at, port]) => [
    {
      id: `tcp-${at}`,
      kind: "tcp",
      host: "::ffff:127.0.0.1",
      port,
      send: "GET / HTTP/1.0\r\n\r\n",
    },
    { id: `tls-${at}`, kind: "tls", host: "127.9.9.9", port, starttls: "imap" },
    { id: `dns-${at}`, kind: "dns", domain: "a.test", servers: [`[::1%lo]:${port}`] },
    { id: `host-${at}`, url: `http://[64:ff9b::7f00:1]:${port}/`, headers: { host: "a.example" } },
  ]);
  const channels = Object.entries(ports).flatMap(([at, port]) => channelsTo(at, `0x7f.1:${port}`));

  const applied = await apply(checks, channels);
  const causes = await Promise.all(
    channels.map(async ({ id }) => {
      const { body } = await program.post("vedette.v1.AlertEvents/Test", { channel: id });
      return [id, (body["messages"] as { cause: string }[])[0]?.cause];
    }),
  );
  const reasons = await Promise.all(
    checks.map(async ({ id: check }) => {
      const read = async () => {
        const { body } = await program.post("vedette.v1.CheckReads/History", { check, limit: 1 });
        return (body["results"] as { reason: string | null }[])[0];
      };
      const first = await waitFor(read, { withinMs: 120_000, what: `a result of ${check}` });
      return [check, first.reason];
    }),
  );

  expect(applied.status).toBe(200);
  const others = [...causes, ...reasons].filter(
    ([, said]) => said?.includes("one of Vedette's own services") !== true,
  );
  expect(others).toEqual([]);
});

it("a runner learns the addresses of what listens at all of this machine's", async () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .map(({ address }) => address);

  const { services } = await fetchWork();

  const hosts = services.filter(({ port }) => port === portOf("metrics")).map(({ host }) => host);
  expect(hosts).toEqual(expect.arrayContaining(["0.0.0.0", ...outside]));
});

it("rows with an address that is in no URL block no later apply", async () => {
  const zone = { id: "zone", kind: "tcp", host: "2001:db8::1%lo", port: 80, send: "hello" };

  const statuses = [(await apply([zone])).status, (await apply([])).status];

  expect(statuses).toEqual([200, 200]);
});

it("the key of checks changes, lists and reads nothing that there is", async () => {
  const file = readFileSync(path.join(program.dataDir, "credentials.json"), "utf8");
  const { root_key, check_key } = Credentials.parse(JSON.parse(file));
  const call = async (name: string, body: object, key = check_key) => {
    const answer = await fetch(`${program.endpoints().api}/v2/${name}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, data: ((await answer.json()) as { data: never }).data };
  };
  const make = async (name: string, body: object) =>
    (await call(name, body, root_key)).data as Record<string, string>;
  const { apiId } = await make("apis.createApi", { name: "attacked" });
  const { keyId, key } = await make("keys.createKey", { apiId, credits: { remaining: 9 } });
  const { identityId } = await make("identities.createIdentity", { externalId: "attacked" });
  const { permissionId } = await make("permissions.createPermission", {
    name: "attacked",
    slug: "attacked",
  });
  const { roleId } = await make("permissions.createRole", { name: "attacked" });
  const at = { namespace: "attacked", identifier: "attacked" };
  await make("ratelimit.setOverride", { ...at, limit: 5, duration: 60_000 });
  const [permissions, roles] = [["attacked"], ["attacked"]];

  const attacks: [string, object][] = [
    ["apis.getApi", { apiId }],
    ["apis.deleteApi", { apiId }],
    ["apis.listKeys", { apiId }],
    ["keys.createKey", { apiId }],
    ["keys.getKey", { keyId }],
    ["keys.whoami", { key }],
    ["keys.whoami", { key: check_key }],
    ["keys.updateKey", { keyId, enabled: false }],
    ["keys.deleteKey", { keyId }],
    ["keys.rerollKey", { keyId, expiration: 0 }],
    ["keys.updateCredits", { keyId, operation: "set", value: 1 }],
    ...["addPermissions", "removePermissions", "setPermissions"].map((name): [string, object] => [
      `keys.${name}`,
      { keyId, permissions },
    ]),
    ...["addRoles", "removeRoles", "setRoles"].map((name): [string, object] => [
      `keys.${name}`,
      { keyId, roles },
    ]),
    ["identities.getIdentity", { identity: identityId }],
    ["identities.deleteIdentity", { identity: identityId }],
    ["permissions.getPermission", { permission: permissionId }],
    ["permissions.deletePermission", { permission: permissionId }],
    ["permissions.getRole", { role: roleId }],
    ["permissions.deleteRole", { role: roleId }],
    ["ratelimit.getOverride", at],
    ["ratelimit.listOverrides", { namespace: "attacked" }],
    ["ratelimit.setOverride", { ...at, limit: 9, duration: 60_000 }],
    ["ratelimit.deleteOverride", at],
    ["ratelimit.limit", { ...at, limit: 5, duration: 60_000 }],
  ];
  const through: string[] = [];
  for (const [name, body] of attacks) {
    const { status } = await call(name, body);
    if (![403, 404].includes(status)) through.push(`${name}: ${status}`);
    // Refused for what it may do, and not for a body that is wrong.
    const own = await call(name, { ...body, unknown_member: 1 }, root_key);
    if (own.status === 404) through.push(`${name}: there is no such thing`);
  }

  expect(through).toEqual([]);
  expect((await call("keys.verifyKey", { key })).data).toMatchObject({ valid: true });
});
