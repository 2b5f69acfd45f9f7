/** Secrets that checks and channels send, to servers that repeat them in every way, and where they are found later. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { queryRestate } from "../../support/servers/restate-query.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** No form of the masks has them: only who knows a secret can hide it. */
const secrets = { CANARY: "blue canary sings 71", FILED: "quiet/finch+hides&72" };
const ingressToken = "ingress-canary-of-a-long-enough-length-73";
const all = { ...secrets, INGRESS: ingressToken };

const { path: directory, remove } = makeTempDir();
const got: string[] = [];
const servers: Server[] = [];
let program: Program;

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

/** Repeats what it was sent as the path asks for. */
async function repeat(request: IncomingMessage, response: ServerResponse) {
  const given = `${request.headers["a"] ?? ""} ${await text(request)} ${decodeURIComponent(request.url ?? "")}`;
  got.push(given);
  const [, way = ""] = (request.url ?? "").split("/");
  const one = given.replace(/[^\x20-\x7e]/g, " ");
  if (way === "status") response.writeHead(500, one);
  else if (way === "redirect") response.writeHead(302, { location: `http://a.example/${one}` });
  else if (way === "header") response.writeHead(200, { "content-type": `text/${one}`, "x-a": one });
  else if (way === "json") response.setHeader("content-type", "application/json");
  response.end(way === "json" ? JSON.stringify({ [one]: one, id: one }) : `<p>${one}</p>`);
}

beforeAll(async () => {
  const http = await listen(createHttp((request, response) => void repeat(request, response)));
  const tcp = await listen(createTcp((socket) => socket.pipe(socket).on("error", () => {})));
  writeFileSync(path.join(directory, "FILED"), secrets.FILED);
  writeFileSync(path.join(directory, "FILED_HOSTS"), `127.0.0.1:${http}`);
  program = await startProgram({
    ...{ VEDETTE_SECRET_CANARY: secrets.CANARY, INGRESS_TOKEN: ingressToken },
    VEDETTE_SECRET_CANARY_HOSTS: "127.0.0.1",
    VEDETTE_DEFINITIONS__SECRETS_DIR: directory,
    VEDETTE_LOG__LEVEL: "trace",
    VEDETTE_ANALYTICS__ENABLED: "true",
  });
  const { status, body } = await post(`${definitions}/Apply`, {
    definitions: { ...empty, checks: checksOf(http, tcp), channels: channelsOf(http) },
  });
  expect({ status, body }).toMatchObject({ status: 200 });
});

afterAll(async () => {
  await program?.dispose();
  for (const server of servers) server.close();
  remove();
});

const post = (handler: string, body: object = {}) => program.post(handler, body, ingressToken);

const definitions = "vedette.v1.Definitions/singleton";
const empty = { locations: [], heartbeats: [], drills: [], sources: [], routes: [] };
const ways = ["status", "redirect", "header", "json", "page"];
const both = "{{CANARY}} {{FILED}}";

function checksOf(http: number, tcp: number): object[] {
  const common = { environment: "staging", channels: ["webhook-page"], frequencySeconds: 10 };
  const at = (way: string) => `http://127.0.0.1:${http}/${way}/{{CANARY}}?b={{FILED}}`;
  const assertions = [{ source: "json", path: "$.id", equals: both }];
  const ofHttp = ways.map((way) => ({
    ...{ id: `http-${way}`, name: `of ${both}`, url: at(way), method: "POST" },
    ...{ headers: { a: both }, body: { a: [both] }, assertions },
  }));
  const first = {
    url: at("json"),
    headers: { a: both },
    extract: { taken: { source: "json", path: "$.id" } },
  };
  const second = { url: at("json"), method: "POST", body: { a: "{{taken}}" }, assertions };
  return [
    ...ofHttp,
    { id: "steps", kind: "steps", steps: [first, second] },
    { id: "tcp", kind: "tcp", host: "127.0.0.1", port: tcp, send: "{{CANARY}}", expect: both },
  ].map((one) => ({ ...common, ...one }));
}

function channelsOf(http: number) {
  return ways.flatMap((way) => {
    const url = `http://127.0.0.1:${http}/${way}/{{FILED}}`;
    return [
      { id: `webhook-${way}`, kind: "webhook", url, secret: "{{CANARY}}" },
      { id: `slack-${way}`, kind: "slack", url },
      { id: `pagerduty-${way}`, kind: "pagerduty", url, secret: "{{CANARY}}" },
    ];
  });
}

const channelIds = channelsOf(0).map(({ id }) => id);

const writingsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ a: secret }).toString().slice(2),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1),
  Buffer.from(secret).toString("hex"),
];

const namesIn = (where: string, text: string) =>
  Object.entries(all).flatMap(([name, secret]) =>
    writingsOf(secret).some((writing) => text.includes(writing)) ? [`${name} in ${where}`] : [],
  );

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => path.join(one.parentPath, one.name));

/** What other processes of this machine may read of ours: the command line; and those of the same user, the environment. */
const readProc = (pid: string, file: string) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1").replaceAll("\0", "\n");
  } catch {
    return "";
  }
};

it.runIf(process.platform === "linux")("no child of the program inherits a secret", async () => {
  const { pid } = program.endpoints();
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(
    pids.map((one) => [one, /^PPid:\s+(\d+)/m.exec(readProc(one, "status"))?.[1] ?? ""]),
  );
  const isBelow = (one: string): boolean =>
    one === `${pid}` || (parents.has(one) && isBelow(parents.get(one) ?? ""));
  const family = pids.filter(isBelow);
  const children = family.filter((one) => one !== `${pid}`);

  const found = [
    ...family.flatMap((one) => namesIn(`command line of ${one}`, readProc(one, "cmdline"))),
    ...children.flatMap((one) =>
      namesIn(`environment of ${readProc(one, "cmdline").slice(0, 60)}`, readProc(one, "environ")),
    ),
  ];

  expect(namesIn("ours", readProc(`${pid}`, "environ"))).not.toEqual([]);
  expect(children.length).toBeGreaterThan(2);
  expect(found).toEqual([]);
});

const lookups: Record<string, () => Promise<unknown>> = {
  metrics: () => fetch(`${program.endpoints().metrics}/metrics`).then((answer) => answer.text()),
  "the checks": () => post("vedette.v1.CheckReads/List"),
  "the alerts": () => post("vedette.v1.AlertEvents/List"),
  "the rows": () => post(`${definitions}/Show`),
  "a plan": () =>
    post(`${definitions}/Plan`, {
      definitions: { ...empty, checks: [], channels: [] },
      prune: true,
    }),
};

const tables = ["state", "sys_journal", "sys_invocation", "sys_inbox", "sys_deployment"];

/** What Restate has; values are in hex. */
async function readRestate(table: string): Promise<string> {
  const { restate_admin: admin = "" } = program.endpoints();
  const rows = await queryRestate(admin, `SELECT * FROM ${table}`, ingressToken);
  const cells = rows.flatMap((row) => Object.values(row).map(String));
  return cells.flatMap((cell) => [cell, Buffer.from(cell, "hex").toString("latin1")]).join("\n");
}

it("no secret that was sent is in an answer, a log, the metrics, a journal or a file", async () => {
  const found: string[] = [];
  const look = async (where: string, asking: Promise<unknown>) => {
    const answer = await asking;
    const { status = 200 } = answer as { status?: number };
    expect([where, status]).toEqual([where, 200]);
    const written = typeof answer === "string" ? answer : JSON.stringify(answer);
    found.push(...namesIn(where, written.replaceAll("\\\\", "\\")));
    return written;
  };

  for (const id of [...ways.map((way) => `http-${way}`), "steps", "tcp"]) {
    await look(`the run of ${id}`, post(`vedette.v1.ApiCheck/${id}/Run`));
    const asked = { check: id, limit: 5 };
    const history = async () => {
      const answer = await post("vedette.v1.CheckReads/History", asked);
      return (answer.body["results"] as unknown[]).length > 0 ? answer : undefined;
    };
    const results = waitFor(history, { withinMs: 60_000, what: `a result of ${id}` });
    await look(`the history of ${id}`, results);
  }
  for (const channel of channelIds) {
    await look(`the test of ${channel}`, post("vedette.v1.AlertEvents/Test", { channel }));
  }
  for (const [where, ask] of Object.entries(lookups)) await look(where, ask());
  const journals: string[] = [];
  for (const table of tables) journals.push(await look(table, readRestate(table)));
  await program.stop();
  found.push(...namesIn("the log", program.output()));
  const files = filesBelow(program.dataDir).map((file) => [file, readFileSync(file, "latin1")]);
  for (const [file = "", content = ""] of files) found.push(...namesIn(file, content));

  for (const secret of Object.values(secrets)) {
    expect(got.filter((one) => one.includes(secret)).length).toBeGreaterThan(10);
  }
  // What was looked through has what is no secret.
  expect(journals.join("")).toContain("count-keys");
  expect(files.filter(([, content]) => content?.includes("http-redirect"))).not.toEqual([]);
  expect(found).toEqual([]);
});
