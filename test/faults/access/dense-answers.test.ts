/** Answers of lists in lists, and of many small parts, neither stop the program nor fill its memory. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRenewCertificate } from "#api/tls/acme.ts";
import { createConnect } from "#fleet/drivers/docker/connection.ts";
import { createEngine } from "#fleet/drivers/docker/engine.ts";
import { createPull } from "#fleet/drivers/docker/pull.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { createCluster, listAll } from "#fleet/drivers/kubernetes/client.ts";
import { PodPage } from "#fleet/drivers/kubernetes/schemas.ts";
import { parseJson } from "#kernel/body.ts";
import { createRunnerClient } from "#monitor/locations/runner.ts";
import { createReader } from "#routing/incident/service.ts";
import { plainSteps, retryLimits } from "#routing/incident/steps.ts";
import { readRoutes } from "#routing/incident/survey.ts";
import { createSend } from "#routing/incident/transport.ts";
import { buildDockerHost, createTestDriver } from "../../support/docker/fleet.ts";
import { answerJson, startScriptedEngine } from "../../support/docker/scripted-engine.ts";

const mib = 1_048_576;

const dense: [string, string][] = [
  ["lists in lists", "[".repeat(16 * mib) + "]".repeat(16 * mib)],
  ["lists that do not end", "[".repeat(30 * mib)],
  ["empty objects", `[${"{},".repeat(10 * mib)}{}]`],
  ["numbers", `{"sentinels":[${"1,".repeat(14 * mib)}1]}`],
];

/** Answers each request with the text; `asked` counts them. */
async function serve(text: string | (() => string)) {
  const state = { asked: 0 };
  const server = createServer((_request, answer) => {
    state.asked += 1;
    answer.setHeader("content-type", "application/json");
    answer.end(typeof text === "string" ? text : text());
  });
  // Longer than a large list is read for: a connection that is closed meanwhile would be taken for the next one.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state };
}

const trusting = { current: async () => ({}), refuse: () => {} };

function clusterAt(server: string) {
  const cluster = createCluster({ server } as never, trusting as never);
  onTestFinished(() => cluster.stop());
  return cluster;
}

/** Of the processor, so that a loaded machine does not count. */
async function workedMs(work: Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work;
  const { user } = process.threadCpuUsage(before);
  return user / 1_000;
}

describe.each(dense)("%s", (_, text) => {
  it("of a fleet's list are refused", async () => {
    const { url } = await serve(text);
    const driver = createHttpDriver({ url, token: "t" });
    onTestFinished(() => driver.stop());

    const listed = driver.list().catch((error: Error) => error.message);

    expect(await workedMs(listed)).toBeLessThan(1_000);
    expect(await listed).toMatch("malformed at body");
  });

  it("of a cluster are refused", async () => {
    const { url } = await serve(text);
    const page = { path: "/", query: {}, page: PodPage, signal: undefined };

    const listed = listAll(clusterAt(url), page).catch((error: Error) => error.message);

    expect(await workedMs(listed)).toBeLessThan(1_000);
    expect(await listed).toMatch("malformed at body");
  });

  it("of a control are refused by its runners", async () => {
    const { url } = await serve(text);
    const client = createRunnerClient({ control: url, token: "t" });

    const work = client.fetchWork().catch((error: Error) => error.message);

    expect(await workedMs(work)).toBeLessThan(1_000);
    expect(await work).toMatch("not JSON");
  });
});

it("pages of a cluster's list end, however many it has", async () => {
  const metadata = { name: "a", namespace: "b", uid: "c", resourceVersion: "1" };
  const annotations = { long: "a".repeat(30 * mib) };
  const pod = { metadata: { ...metadata, annotations }, spec: { containers: [] }, status: {} };
  const text = JSON.stringify({ metadata: { continue: "more" }, items: [pod] });
  const { url, state } = await serve(text);

  const listed = listAll(clusterAt(url), {
    ...{ path: "/", query: {}, page: PodPage, signal: undefined },
  });

  await expect(listed).rejects.toThrow("the API server's list has no end");
  expect(state.asked).toBeLessThan(12);
});

/** A pod, and a page with it alone, of so many MiB. */
function buildPod(mibs: number) {
  const metadata = { name: "a", namespace: "b", uid: "c", resourceVersion: "1" };
  const annotations = { long: "a".repeat(mibs * mib) };
  return { metadata: { ...metadata, annotations }, spec: { containers: [] }, status: {} };
}
const buildPage = (mibs: number) => JSON.stringify({ metadata: {}, items: [buildPod(mibs)] });
const aPage = { path: "/", query: {}, page: PodPage, signal: undefined };

it("one object of a cluster is refused if it is larger than any is", async () => {
  const { url } = await serve(JSON.stringify(buildPod(3)));

  const read = clusterAt(url).call({ method: "GET", path: "/" });

  await expect(read).rejects.toThrow("too large an answer");
});

it("one object of a cluster is read if it is as large as etcd stores", async () => {
  const { url } = await serve(JSON.stringify(buildPod(1.5)));

  expect(await clusterAt(url).call({ method: "GET", path: "/" })).toMatchObject({ status: 200 });
});

it("large lists of a cluster that are read at once are refused beyond what all may have", async () => {
  const cluster = clusterAt((await serve(buildPage(28))).url);
  // A slow machine reads 336 MB in more than the usual time.
  const call: typeof cluster.call = (asked) => cluster.call({ ...asked, limitMs: 60_000 });
  const patient = { ...cluster, call };

  const read = await Promise.allSettled(Array.from({ length: 12 }, () => listAll(patient, aPage)));

  const refused = read.filter(({ status }) => status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.map((one) => String((one as PromiseRejectedResult).reason))).toEqual(
    refused.map(() => expect.stringContaining("too many are large")),
  );
});

it("large lists of a cluster that are read one after the other are all read", async () => {
  const cluster = clusterAt((await serve(buildPage(28))).url);

  for (let n = 0; n < 6; n++) expect(await listAll(cluster, aPage)).toHaveLength(1);
});

it("many usual lists of a cluster are read at once", async () => {
  const cluster = clusterAt((await serve(buildPage(2))).url);

  const read = await Promise.all(Array.from({ length: 50 }, () => listAll(cluster, aPage)));

  expect(read.flat()).toHaveLength(50);
});

/** A host of three containers, of each of which it says a MiB. */
async function startLargeHost() {
  const containers = Array.from({ length: 3 }, (_, n) => ({
    ...{ Id: `c${n}`, Names: [`/gw-${n}`], Image: "r.io/a:1", ImageID: "sha256:i1" },
    ...{ State: "running", Status: "Up", Labels: { "vedette.sentinel": "", a: "a".repeat(mib) } },
  }));
  const { url } = await startScriptedEngine(({ path }, answer) =>
    path.startsWith("/containers/json") ? answerJson(answer, 200, containers) : undefined,
  );
  return createTestDriver({ hosts: [buildDockerHost({ url })] });
}

it("a host's list of one sentinel's containers is refused if it is larger than theirs are", async () => {
  const driver = await startLargeHost();
  const order = { sentinelId: "one/gw-1", image: "r.io/a:1", deployId: "d" };

  await expect(driver.observe(order)).rejects.toThrow("too large an answer");
});

it("a host's list of all containers may be larger than that of one", async () => {
  const driver = await startLargeHost();

  expect(await driver.list()).toHaveLength(3);
});

it("a host that has thousands of containers of one sentinel is asked for none of them", async () => {
  const of = { Names: ["/gw"], Image: "", ImageID: "", State: "", Status: "", Labels: {} };
  const containers = Array.from({ length: 10_000 }, (_, n) => ({ Id: `c${n}`, ...of }));
  const { url, state } = await startScriptedEngine(({ path }, answer) =>
    path.startsWith("/containers/json") ? answerJson(answer, 200, containers) : undefined,
  );
  const driver = createTestDriver({ hosts: [buildDockerHost({ url })] });
  const order = { sentinelId: "one/gw", image: "r.io/a:1", deployId: "d" };

  await expect(driver.observe(order)).rejects.toThrow("10000 containers named gw");

  expect(state.requests).toBe(2);
});

it("a host that is slow to say how a replacement stands is asked once, however often it is listed", async () => {
  const one = { Id: "c1", Image: "r.io/a:1", ImageID: "sha256:i1", Status: "Up", Labels: {} };
  const containers = [{ ...one, State: "running", Names: ["/gw.prev"] }];
  let asked = 0;
  const { url } = await startScriptedEngine(({ path }, answer) => {
    if (!path.startsWith("/containers/json")) return false;
    if (!path.includes('"name"')) return answerJson(answer, 200, containers);
    asked += 1;
    return true;
  });
  const driver = createTestDriver({ hosts: [buildDockerHost({ url })] });

  for (let count = 0; count < 5; count += 1) await driver.list();
  await new Promise((resolve) => setTimeout(resolve, 300));

  expect(asked).toBe(1);
});

it.each([
  ["empty lines", "\n"],
  ["numbers", "1\n"],
  ["objects of nothing", "{}\n"],
])("a pull whose progress are a megabyte of %s takes no time", async (_what, line) => {
  const { url } = await startScriptedEngine(({ path }, answer) => {
    if (!path.startsWith("/images/create")) return false;
    answer.end(line.repeat(mib / line.length));
    return true;
  });
  const engine = createEngine("one", createConnect({ url, ca: "", cert: "", key: "" }), url);
  onTestFinished(() => engine.stop());
  const pull = createPull(engine, { findCredential: () => undefined, limitMs: 60_000 });
  let failure: unknown = "none yet";

  const worked = await workedMs(
    pull("r.io/a:1").then((found) => {
      failure = found;
    }),
  );

  expect(failure).toBe(undefined);
  expect(worked).toBeLessThan(700);
});

/** A host of 600 containers, each of another image. */
async function startHost(config: string) {
  let images = 0;
  const containers = Array.from({ length: 600 }, (_, n) => ({
    ...{ Id: `c${n}`, Names: [`/gw-${n}`], Image: `r.io/a:${n}`, ImageID: `sha256:i${n}` },
    ...{ State: "running", Status: "Up 2 minutes", Labels: { "vedette.sentinel": "" } },
  }));
  const { url } = await startScriptedEngine(({ path }, answer) => {
    if (path.startsWith("/containers/json")) return answerJson(answer, 200, containers);
    if (!path.startsWith("/images/")) return false;
    images += 1;
    return answerJson(answer, 200, { Id: "sha256:i", Config: { config } });
  });
  const driver = createTestDriver({ hosts: [buildDockerHost({ url })] });
  return { driver, images: () => images };
}

it("a host's images are asked for up to a limit, and none for what the list does not need", async () => {
  const { driver, images } = await startHost("a".repeat(10_000));

  expect(await driver.list()).toHaveLength(600);
  expect(images()).toBe(500);
});

it("an image of which a host says more than a megabyte is refused", async () => {
  const { driver } = await startHost("a".repeat(mib));

  await expect(driver.list()).rejects.toThrow("too large an answer");
});

it("a certificate authority's answer without end is cut off", async () => {
  let sent = 0;
  const server = createServer((_request, answer) => {
    const talk = () => {
      while (sent < 64 * mib && answer.write(Buffer.alloc(mib))) sent += mib;
      answer.once("drain", talk);
    };
    talk();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const store = { read: async () => undefined, readAccount: async () => undefined };
  const renew = createRenewCertificate({
    ...{ names: ["a.test"], directoryUrl: `http://127.0.0.1:${port}/`, email: "", clock: Date.now },
    store: { ...store, writeAccount: async () => {} } as never,
  });

  await expect(renew()).rejects.toThrow("no usable answer");
  expect(sent).toBeLessThan(32 * mib);
});

it("what a certificate authority refuses with is told in a few clean words", async () => {
  const { url, state } = await serveAuthority(`\u001b[2J${"no ".repeat(300_000)}`);
  const store = { read: async () => undefined, readAccount: async () => undefined };
  const renew = createRenewCertificate({
    ...{ names: ["a.test"], directoryUrl: `${url}/`, email: "", clock: Date.now },
    store: { ...store, writeAccount: async () => {} } as never,
  });

  const refusal = await renew().catch((error: Error) => error.message);

  expect(state.posted).toBe(1);
  expect(refusal).toMatch(/^no no /);
  expect(String(refusal)).toHaveLength(500);
});

/** Has no account for anybody, and says why. */
async function serveAuthority(detail: string) {
  const state = { posted: 0 };
  const server = createServer((request, answer) => {
    const at = `http://${request.headers.host}/`;
    const names = ["newNonce", "newAccount", "newOrder", "revokeCert", "keyChange"];
    const directory = Object.fromEntries(names.map((name) => [name, `${at}${name}`]));
    answer.setHeader("replay-nonce", "n1");
    if (request.method !== "POST") return void answerJson(answer, 200, directory);
    state.posted += 1;
    answerJson(answer, 403, { detail });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state };
}

it("alert routes of ten megabytes each are read up to a limit of all together", async () => {
  let asked = 0;
  const { url } = await serve(() => {
    asked += 1;
    if (asked > 1) return `{"alert_route":{"id":"r${asked - 1}","version":1,"x":"${large}"}}`;
    const listed = Array.from({ length: 100 }, (_, n) => ({ id: `r${n + 1}`, name: "a" }));
    return JSON.stringify({ alert_routes: listed });
  });
  const large = "a".repeat(9 * mib);
  const reader = createReader(createSend({ url, apiKey: "key" }));

  const read = await readRoutes(reader, {
    steps: plainSteps,
    retryLimits: retryLimits.terminal,
  });

  expect(read).toEqual({ kind: "failed", reason: "the alert routes exceed 64 MiB" });
  expect(asked).toBe(9);
});

it.each([
  [200, "failed"],
  [20, "done"],
])("a route of a long text in %d lists: %s", async (levels, kind) => {
  const text = `${"[".repeat(levels)}"${"a".repeat(mib)}"${"]".repeat(levels)}`;
  const { url } = await serve(`{"alert_route":{"id":"01A","version":1,"x":${text}}}`);

  const read = await createReader(createSend({ url, apiKey: "key" })).readRoute("01A");

  expect(read.kind).toBe(kind);
});

it("a pod with a hundred thousand wrong conditions is refused at the first", async () => {
  const metadata = { name: "a", namespace: "b", uid: "c", resourceVersion: "1" };
  const conditions = Array.from({ length: 100_000 }, () => ({}));
  const pod = { metadata, spec: { containers: [] }, status: { conditions } };

  const parsed = PodPage.safeParse({ metadata: {}, items: [pod] });

  expect(parsed.error?.issues).toHaveLength(1);
});

it.each([
  [
    "a fleet's list of 200,000",
    { id: "gw", region: "eu", image: "r.io/a:1", healthy: true, labels: { a: "b" } },
  ],
  [
    "short managed fields",
    { "f:spec": { "f:a": {}, "f:replicas": {}, "f:template": { "f:b": {} } } },
  ],
])("%s is read", (_, item) => {
  const list = Array.from({ length: 200_000 }, () => item);

  expect(parseJson(Buffer.from(JSON.stringify(list)))).toHaveLength(200_000);
});

it.each([
  ["many commas in one text", { log: ",[{".repeat(1_000_000) }],
  ["a log of lists", { log: '{"a":[1,2,3]},'.repeat(100_000), next: [1, 2] }],
  ["backslashes and quotes", [String.raw`\"`.repeat(100_000), '"[{,'.repeat(100_000)]],
])("an answer of %s is read", (_, value) => {
  expect(parseJson(Buffer.from(JSON.stringify(value)))).toEqual(value);
});

it.each([
  ["a quote that does not end", `["${"[,".repeat(10 * mib)}`],
  ["a backslash outside of a text", String.raw`[\"${"[,".repeat(10 * mib)}`],
  ["texts between", `[${'"",'.repeat(8 * mib)}""]`],
])("an answer of many parts behind %s is refused at once", async (_, text) => {
  const bytes = Buffer.from(text);
  const read = async () => parseJson(bytes);

  expect(await workedMs(read())).toBeLessThan(1_000);
  expect(await read()).toBeUndefined();
});

const range = (length: number) => Array.from({ length }, (_, n) => n);
const textOf = (names: Iterable<string>) => `{${[...names].map((name) => `"${name}":0`).join()}}`;
const ofMany = (make: (n: number) => string) => `[${range(150_000).map(make).join()}]`;

it.each([
  ["2,000,000 names", textOf(range(2_000_000).map((n) => `k${n}`))],
  ["2,000,000 numbers as names", textOf(range(2_000_000).map((n) => `${(n * 7_919) % 2 ** 31}`))],
  ["objects of names of their own", ofMany((n) => textOf(range(10).map((m) => `k${n * 10 + m}`)))],
  [
    "the same names in other orders",
    ofMany(() => textOf(range(10).map(() => `k${Math.trunc(Math.random() * 128)}`))),
  ],
  ["names behind other names", ofMany((n) => `{"a":{},"b\\"":[{"c${n}" : 1}],"d":{"e":{}}}`)],
])("JSON of %s is refused at once", async (_, text) => {
  const bytes = Buffer.from(text);
  const read = async () => parseJson(bytes);

  expect(await workedMs(read())).toBeLessThan(1_000);
  expect(await read()).toBeUndefined();
});

it.each([
  ["20,000 names", Object.fromEntries(range(20_000).map((n) => [`k${n}`, n]))],
  ["many texts with colons", range(200_000).map((n) => ({ at: `"${n}": {`, id: `:${n}` }))],
  [
    "labels of 1,000 orders",
    range(50_000).map((n) => ({ id: n, labels: { [`a${n % 1_000}`]: "b", c: "d", e: "f" } })),
  ],
])("JSON of %s is read", (_, value) => {
  expect(parseJson(Buffer.from(JSON.stringify(value)))).toEqual(value);
});
