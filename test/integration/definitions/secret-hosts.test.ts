/** Definitions whose secrets would go to a server that is not meant to have them, at a running program. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let server: Server;
let host: string;
let got: string[] = [];
const { path: directory, remove } = makeTempDir();
const definitionsFile = path.join(directory, "vedette.json");
const secretsDir = directory;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    got.push(`${request.url} ${JSON.stringify(request.headers)} ${await text(request)}`);
    response.writeHead(200).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spy = { id: "of-a-start", url: `http://${host}/`, headers: { a: "{{ROOT_KEY}}" } };
  writeFileSync(definitionsFile, JSON.stringify({ extends: ["standard"], checks: [spy] }));
  writeFileSync(path.join(secretsDir, "LISTED"), "the-listed-secret");
  writeFileSync(path.join(secretsDir, "LISTED_HOSTS"), host);
  writeFileSync(path.join(secretsDir, "UNLISTED"), "the-unlisted-secret");
  program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: definitionsFile,
    VEDETTE_DEFINITIONS__SECRETS_DIR: secretsDir,
    VEDETTE_CONTROL__OPERATORS__REA__TOKEN: createHash("sha256").update("of-rea").digest("hex"),
    VEDETTE_CONTROL__OPERATORS__REA__ROLES: "read,operate",
  });
});

afterAll(async () => {
  await program?.dispose();
  server?.close();
  remove();
});

beforeEach(() => {
  got = [];
});

const ask = (handler: "Plan" | "Apply", rows: object) =>
  program.post(`vedette.v1.Definitions/singleton/${handler}`, {
    definitions: { ...emptySet, ...rows },
    prune: true,
  });
const check = (fields: object) => ({
  checks: [CheckRow.parse({ id: "spy", frequencySeconds: 10, ...fields })],
});
const channel = (fields: object) => ({ channels: [ChannelRow.parse({ id: "out", ...fields })] });
const run = (id: string) => program.post(`vedette.v1.ApiCheck/${id}/Run`);

const credentials = () =>
  JSON.parse(readFileSync(path.join(program.dataDir, "credentials.json"), "utf8"));

it("a check of a start that would send the root key elsewhere fails, and sends nothing", async () => {
  const { body } = await run("of-a-start");

  expect(body).toMatchObject({
    grade: "failed",
    reason: expect.stringContaining("{{ROOT_KEY}} goes only below monitor.base_url"),
  });
  expect(got).toEqual([]);
});

it("a row of the program that the file lacks keeps nothing else from being planned", async () => {
  const { status } = await program.post("vedette.v1.Definitions/singleton/Plan", {
    definitions: emptySet,
    prune: false,
  });

  expect(status).toBe(200);
});

it("a plan tells whoever may not configure nothing about which secrets are set", async () => {
  const plan = async (name: string) => {
    const url = `https://elsewhere.example/{{${name}}}`;
    const rows = { ...channel({ kind: "webhook", url }), ...check({ url, channels: ["out"] }) };
    const request = { definitions: { ...emptySet, ...rows }, prune: true };
    const answer = await program.post("vedette.v1.Definitions/singleton/Plan", request, "of-rea");
    return JSON.stringify(answer).replaceAll(name, "NAME");
  };
  const unset = await plan("MISSING");

  expect(unset).toContain('"status":200');
  expect(await plan("LISTED")).toBe(unset);
  expect(await plan("UNLISTED")).toBe(unset);
});

const attacks: [string, () => object, string][] = [
  [
    "the root key in a header",
    () => check({ url: `http://${host}/`, headers: { authorization: "Bearer {{ROOT_KEY}}" } }),
    "checks.spy.headers.authorization: {{ROOT_KEY}} goes only below monitor.base_url",
  ],
  [
    "a secret without a list in an address",
    () => check({ url: `http://${host}/{{UNLISTED}}` }),
    "checks.spy.url: {{UNLISTED}} may not go to",
  ],
  [
    "a secret by TCP",
    () => check({ kind: "tcp", host: "localhost", port: 9, send: "{{LISTED}}" }),
    "checks.spy.send: {{LISTED}} may not go to localhost:9",
  ],
  [
    "a secret in a step",
    () =>
      check({
        kind: "steps",
        steps: [
          { url: `http://${host}/`, headers: { a: "{{LISTED}}" } },
          { url: "http://localhost:9/", method: "POST", body: { a: "{{LISTED}}" } },
        ],
      }),
    "checks.spy.steps.1.body.a: {{LISTED}} may not go to localhost:9",
  ],
  [
    "what a step takes from an answer to a secret",
    () =>
      check({
        kind: "steps",
        steps: [
          {
            ...{ url: `http://${host}/`, headers: { a: "{{LISTED}}" } },
            extract: { token: { source: "json", path: "token" } },
          },
          { url: "http://localhost:9/", headers: { b: "{{token}}" } },
        ],
      }),
    "checks.spy.steps.1.headers.b: {{LISTED}} may not go to localhost:9",
  ],
  [
    "the signing secret of a webhook",
    () => channel({ kind: "webhook", url: `http://${host}/`, secret: "{{UNLISTED}}" }),
    "channels.out.secret: {{UNLISTED}} may not go to",
  ],
  [
    "the key of a pager",
    () => channel({ kind: "pagerduty", url: "https://evil.example/", secret: "{{LISTED}}" }),
    "channels.out.secret: {{LISTED}} may not go to evil.example",
  ],
];

describe.each(attacks)("%s for another host", (_, rows, told) => {
  it.each(["Plan", "Apply"] as const)(
    "is refused by %s with its field and host",
    async (handler) => {
      const { status, body } = await ask(handler, rows());

      expect({ status, body }).toMatchObject({
        status: 400,
        body: { code: "invalid_definitions", detail: expect.stringContaining(told) },
      });
      expect(JSON.stringify(body)).not.toMatch(/the-(?:un)?listed-secret|vedette_root_/);
      expect(got).toEqual([]);
    },
  );
});

it("a list with a fault refuses a plan, without its text", async () => {
  writeFileSync(path.join(secretsDir, "FAULTY"), "the-faulty-secret");
  writeFileSync(path.join(secretsDir, "FAULTY_HOSTS"), "https://hunter2");

  const { status, body } = await ask("Plan", check({ url: `http://${host}/{{FAULTY}}` }));
  writeFileSync(path.join(secretsDir, "FAULTY_HOSTS"), host);

  expect({ status, detail: body["detail"] }).toEqual({
    status: 400,
    detail: expect.stringContaining("VEDETTE_SECRET_FAULTY_HOSTS: entry 1 is no host"),
  });
  expect(JSON.stringify(body)).not.toContain("hunter2");
});

describe("a secret with a list", () => {
  beforeAll(async () => {
    const rows = {
      ...check({ url: `http://${host}/`, headers: { a: "{{LISTED}}" } }),
      ...channel({ kind: "pagerduty", url: `http://${host}/v2`, secret: "{{LISTED}}" }),
    };
    const { status, body } = await ask("Apply", rows);
    if (status !== 200) throw new Error(JSON.stringify(body));
  });

  it("is sent there by a check", async () => {
    const { body } = await waitFor(
      async () => {
        const answer = await run("spy");
        return answer.status === 200 && answer;
      },
      { withinMs: 20_000, what: "the check to be known" },
    );

    expect(body).toMatchObject({ grade: "ok" });
    expect(got.join()).toContain("the-listed-secret");
  });

  it("is sent there by a test of a channel, and no longer when its list has changed", async () => {
    const posted = () => got.filter((one) => one.startsWith("/v2"));
    const test = () => program.post("vedette.v1.AlertEvents/Test", { channel: "out" });
    const before = await test();
    writeFileSync(path.join(secretsDir, "LISTED_HOSTS"), "other.example");
    const requests = posted().length;

    const after = await test();
    writeFileSync(path.join(secretsDir, "LISTED_HOSTS"), host);

    expect(before.body["messages"]).toMatchObject([{ outcome: "accepted" }, {}]);
    expect(after.body["messages"]).toMatchObject([
      { outcome: "failed", cause: expect.stringContaining("{{LISTED}} may not go to 127.0.0.1") },
      { outcome: "failed" },
    ]);
    expect(got.join()).toContain("the-listed-secret");
    expect(posted()).toHaveLength(requests);
  });
});

describe("the key that checks have by themselves", () => {
  const call = (procedure: string, body: object, key = credentials().check_key) =>
    fetch(`${program.endpoints().api}/v2/${procedure}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const limit = { identifier: "someone", limit: 1_000, duration: 60_000 };

  it("is another one than the root key", () => {
    const { check_key, root_key, sentinel_key } = credentials();

    expect(new Set([check_key, root_key, sentinel_key]).size).toBe(3);
  });

  it("verifies keys", async () => {
    const answer = await call("keys.verifyKey", { key: "no-such-key" });

    expect(answer.status).toBe(200);
  });

  it("counts in the namespace of the standard check, which a start has made", async () => {
    const answer = await call("ratelimit.limit", { ...limit, namespace: "synthetic-checks" });

    expect(answer.status).toBe(200);
  });

  it.each([
    ["apis.createApi", { name: "spy" }],
    ["permissions.createPermission", { name: "spy", slug: "spy" }],
    ["identities.createIdentity", { externalId: "spy" }],
    ["ratelimit.limit", { ...limit, namespace: "of-somebody" }],
    ["ratelimit.setOverride", { ...limit, namespace: "synthetic-checks", duration: 60_000 }],
  ])("may not call %s", async (procedure, body) => {
    const { status } = await call(procedure, body);

    expect(status).toBe(403);
  });

  it("spends no limit of another namespace, which exists", async () => {
    const named = { ...limit, namespace: "of-a-shop" };
    const made = await call("ratelimit.limit", named, credentials().root_key);

    const { status } = await call("ratelimit.limit", named);

    expect([made.status, status]).toEqual([200, 403]);
  });

  it("is what the standard checks call with", async () => {
    const restored = { ...check({ url: `http://${host}/` }) };
    const rows = JSON.parse(JSON.stringify(restored.checks));
    const limitCheck = CheckRow.parse({
      ...{ id: "limited", method: "POST", path: "/v2/ratelimit.limit" },
      headers: { authorization: "Bearer {{ROOT_KEY}}" },
      body: { ...limit, namespace: "synthetic-checks" },
    });
    const forbidden = CheckRow.parse({
      ...{ id: "forbidden", method: "POST", path: "/v2/apis.createApi" },
      headers: { authorization: "Bearer {{ROOT_KEY}}" },
      body: { name: "spy" },
    });
    await ask("Apply", { checks: [...rows, limitCheck, forbidden] });

    const answers = await Promise.all([run("limited"), run("forbidden")]);

    expect(answers.map(({ body }) => body["status"])).toEqual([200, 403]);
  });
});

it("the key of checks is made anew by the start after it was revoked, and listed", async () => {
  const environment = { VEDETTE_DATA_DIR: program.dataDir };
  const list = async () => {
    const { stdout } = await runVedette(["root-keys", "list", "--json"], environment);
    const { root_keys } = JSON.parse(stdout) as { root_keys: Record<string, string>[] };
    return root_keys.filter(({ origin }) => origin === "checks");
  };
  const before = credentials().check_key;
  const [key] = await list();
  await runVedette(["root-keys", "revoke", key?.["key_id"] ?? ""], environment);

  await program.stop();
  await program.start();

  const [next, ...others] = await list();
  expect(next).toMatchObject({ name: "of the checks", state: "active" });
  expect(others).toEqual([]);
  expect(credentials().check_key).not.toBe(before);
  expect((await run("limited")).body).toMatchObject({ status: 200 });
});

it("a start is refused while a list has a fault, and says which", async () => {
  await program.stop();

  await expect(
    program.start({ VEDETTE_SECRET_PAGER_HOSTS: "a.example, *.hunter2" }),
  ).rejects.toThrow("VEDETTE_SECRET_PAGER_HOSTS: entry 2 is no host such as shop.example.com");
  expect(program.output()).not.toContain("hunter2");
});
