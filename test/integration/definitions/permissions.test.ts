/** What the code of a file of definitions reaches. Each attempt is made without the permissions, too, and arrives there. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runChild } from "#definitions/file/typescript/run-child.ts";
import { directoryOf, faultsOf } from "../../support/definitions/definition-files.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const name = "vedette.config.ts";
const limits = { withinMs: 20_000, largestResult: 100_000 };
const { path: outside, remove } = makeTempDir();
writeFileSync(path.join(outside, "outside.json"), '"outside"');

const server: Server = createServer((socket) => socket.end());
const socketFile = path.join(outside, "socket");
const socketServer: Server = createServer((socket) => socket.end());
let port = 0;

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  await new Promise<void>((done) => socketServer.listen(socketFile, done));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterAll(() => {
  server.close();
  socketServer.close();
  remove();
});

/** A module whose data is `{ reached }` or `{ refused }`. */
const moduleOf = (attempt: string) => `
const attempt = async () => { ${attempt} };
const read = (name) => process.getBuiltinModule("fs").readFileSync(name, "utf8");
const builtin = (name) => process.getBuiltinModule(name) ?? (() => { throw new Error("no " + name); })();
const settled = (emitter, event) => new Promise((resolve, reject) => { emitter.once("error", reject); emitter.once(event, () => resolve("event")); });
const here = (name) => new URL(name, import.meta.url);
export default await attempt().then(
  (value) => ({ reached: String(value ?? "") }),
  (error) => ({ refused: [error.message, error.cause?.message].join(" ") }),
);
`;

type Outcome = { reached?: string; refused?: string };

async function withPermissions(file: string): Promise<Outcome> {
  const result = await runChild(file, limits);
  return result.kind === "loaded" ? (result.data as Outcome) : { refused: result.message };
}

async function without(file: string): Promise<Outcome> {
  const script = "process.stdout.write(JSON.stringify((await import(process.argv[1])).default))";
  const args = ["--no-warnings", "--input-type=module", "-e", script, file];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Outcome;
}

function links(directory: string): void {
  symlinkSync(path.join(outside, "outside.json"), path.join(directory, "link.json"));
  symlinkSync(outside, path.join(directory, "linked"));
  symlinkSync(path.join(directory, ".vedette"), path.join(directory, "node_modules", "linked"));
  symlinkSync(outside, path.join(directory, "node_modules", "package", "inner"));
}

const files = {
  ".env": "hidden",
  ".vedette/credentials.json": '"hidden"',
  "data/credentials.json": '"hidden"',
  "data/endpoints.json": '"hidden"',
  "state/vedette.lock": "hidden",
  "state/endpoints.json": '"hidden"',
  "sub/.env": "hidden",
  "sub/data.json": '"data"',
  "vedette.toml": "hidden",
  "tls/key.pem": "hidden",
  "secrets/SHOP_TOKEN": "hidden",
  "*.json": '"star"',
  "node_modules/package/package.json": '{ "exports": "./main.js" }',
  "node_modules/package/main.js": "module.exports = 'package';",
};

describe("a file of definitions cannot", () => {
  const readings: [string, string][] = [
    ["read a file of the machine", 'return read("/etc/hostname")'],
    ["read the environment of its process", 'return read("/proc/self/environ").length'],
    ["read the environment of its parent", `return read("/proc/${process.pid}/environ").length`],
    ["read beside its folder", 'return read(here("../" + "OUTSIDE"))'],
    ["read through a link to a file", 'return read(here("link.json"))'],
    [
      "import through a link to a file",
      'return (await import("./link.json", { with: { type: "json" } })).default',
    ],
    ["read through a link to a folder", 'return read(here("linked/outside.json"))'],
    [
      "read through a link among its packages",
      'return read(here("node_modules/linked/credentials.json"))',
    ],
    [
      "read through a link in a package",
      'return read(here("node_modules/package/inner/outside.json"))',
    ],
    ["read the data directory", 'return read(here(".vedette/credentials.json"))'],
    ["read a data directory of another name", 'return read(here("data/endpoints.json"))'],
    ["read a data directory of a first start", 'return read(here("state/endpoints.json"))'],
    ["read what is hidden", 'return read(here(".env"))'],
    ["read what is hidden in a folder", 'return read(here("sub/.env"))'],
    ["read the settings", 'return read(here("vedette.toml"))'],
    ["read a key", 'return read(here("tls/key.pem"))'],
    ["read a secret of a file", 'return read(here("secrets/SHOP_TOKEN"))'],
    ["list its folder with what is hidden", 'return builtin("fs").readdirSync(here("."))'],
  ];
  const others: [string, string][] = [
    ["write", 'return builtin("fs").writeFileSync(here("written"), "")'],
    [
      "write by SQLite",
      'const { DatabaseSync } = builtin("node:sqlite"); const database = new DatabaseSync(":memory:"); database.exec("attach \'" + here("new.db").pathname + "\' as new; create table new.a (b)")',
    ],
    [
      "write a report",
      'process.report.directory = here(".").pathname; process.report.filename = "report.json"; return typeof process.report',
    ],
    ["start a program", 'return builtin("child_process").execFileSync("true")'],
    ["become another program", 'return typeof process.execve("/bin/true", ["true"], {})'],
    [
      "start a thread",
      'return settled(new (builtin("worker_threads").Worker)("1", { eval: true }), "exit")',
    ],
    ["connect", 'return settled(builtin("net").connect(PORT, "127.0.0.1"), "connect")'],
    ["connect to a socket file", 'return settled(builtin("net").connect("SOCKET"), "connect")'],
    [
      "listen",
      'const server = builtin("net").createServer(); server.listen(0); await settled(server, "listening"); server.close()',
    ],
    [
      "send a datagram",
      'const socket = builtin("dgram").createSocket("udp4"); await new Promise((resolve, reject) => socket.once("error", reject).send("x", PORT, "127.0.0.1", (error) => error ? reject(error) : resolve())); socket.close()',
    ],
    [
      "fetch",
      'return fetch("http://127.0.0.1:PORT").catch((error) => { if (/ACCESS|restricted/.test(String(error.cause))) throw error; return "connected" })',
    ],
    ["look up a name", 'return (await builtin("dns").promises.lookup("localhost")).address'],
    ["open the inspector", 'builtin("inspector").open(0); return builtin("inspector").url()'],
    [
      "use the inspector",
      'const session = new (builtin("inspector").Session)(); session.connect(); return "session"',
    ],
    ["use bindings of Node", 'return process.binding("fs")'],
    ["signal its parent", "return process.kill(process.ppid, 0)"],
    [
      "signal its parent by an import",
      'const { kill } = await import("node:process"); return kill(process.ppid, 0)',
    ],
    ["signal its parent by the inner function", "return process._kill(process.ppid, 0) === 0"],
    [
      "make its parent open a debugger",
      'if (typeof process._debugProcess !== "function") throw new Error("none"); return "can"',
    ],
    [
      "change the priority of its parent",
      'const os = builtin("os"); return os.setPriority(process.ppid, os.getPriority(process.ppid))',
    ],
    [
      "change a priority by an import",
      'const { setPriority } = await import("node:os"); return setPriority(0, 0)',
    ],
    ["set flags of V8", 'return builtin("v8").setFlagsFromString("--no-opt")'],
    [
      "see the environment",
      'const names = Object.keys(process.env).filter((name) => name !== "PWD" && name !== "OLDPWD" && name !== "SHLVL" && name !== "_"); if (names.length === 0) throw new Error("empty"); return names',
    ],
  ];

  it.each([...readings, ...others])("%s", async (_what, attempt) => {
    const directory = directoryOf({ ...files, [name]: "" });
    links(directory);
    writeFileSync(`${directory}.json`, '"outside"');
    const filled = attempt
      .replace("OUTSIDE", `${path.basename(directory)}.json`)
      .replaceAll("PORT", String(port))
      .replace("SOCKET", socketFile);
    const file = path.join(directory, name);
    writeFileSync(file, moduleOf(filled));

    const refused = await withPermissions(file);
    const reached = attempt.includes("execve") ? undefined : await without(file);

    expect(refused).toEqual({ refused: expect.any(String) });
    if (reached !== undefined) expect(reached).toEqual({ reached: expect.any(String) });
  });
});

it.each([
  ["a link", "package.json"],
  ["a folder with a link", "package.json/link"],
])(
  "a file of definitions cannot read through %s that is called package.json",
  async (_what, at) => {
    const attempt = `return read(here(${JSON.stringify(at)}))`;
    const directory = directoryOf({ [`app/${name}`]: moduleOf(attempt), "outside/a.json": "{}" });
    const link = path.join(directory, "app", at);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(directory, "outside/a.json"), link);
    const file = path.join(directory, "app", name);

    expect(await without(file)).toEqual({ reached: "{}" });
    expect(await withPermissions(file)).toHaveProperty("refused");
  },
);

describe("a file of definitions can", () => {
  const packages: Record<string, string> = {
    "node_modules/@acme/plain/package.json": '{ "type": "module", "exports": "./main.js" }',
    "node_modules/@acme/plain/main.js": "import inner from 'inner'; export default inner;",
    "node_modules/@acme/plain/node_modules/inner/index.js": "module.exports = 'inner';",
    "node_modules/.pnpm/a@1/node_modules/a/package.json": '{ "name": "a", "main": "a.js" }',
    "node_modules/.pnpm/a@1/node_modules/a/a.js": "module.exports = require('b');",
    "node_modules/.pnpm/b@1/node_modules/b/index.js": "module.exports = 'b';",
    "shared/checks/package.json": '{ "name": "shared", "exports": "./checks.ts" }',
    "shared/checks/checks.ts": "export default 'shared' as string;",
  };
  const link = (directory: string, from: string, to: string) => {
    const at = path.join(directory, "node_modules", from);
    symlinkSync(path.relative(path.dirname(at), path.join(directory, to)), at);
  };

  it.each([
    ["read data of its folder", 'return read(here("hosts.json"))', "hosts"],
    ["list a folder of code", 'return builtin("fs").readdirSync(here("checks"))', "one.ts"],
    ["import a module below it", 'return (await import("./checks/one.ts")).default', "one"],
    ["import a package", 'return (await import("@acme/plain")).default', "inner"],
    ["import a package of a store", 'return (await import("a")).default', "b"],
    [
      "require a package of a store",
      'return builtin("module").createRequire(import.meta.url)("a")',
      "b",
    ],
    ["import a package of its workspace", 'return (await import("shared")).default', "shared"],
  ])("%s", async (_what, attempt, reached) => {
    const directory = directoryOf({
      ...packages,
      [`app/${name}`]: moduleOf(attempt),
      "app/hosts.json": "hosts",
      "app/checks/one.ts": "export default 'one' as string;",
    });
    link(directory, "a", "node_modules/.pnpm/a@1/node_modules/a");
    link(directory, ".pnpm/a@1/node_modules/b", "node_modules/.pnpm/b@1/node_modules/b");
    link(directory, "shared", "shared/checks");

    expect(await withPermissions(path.join(directory, "app", name))).toEqual({ reached });
  });

  it("be a link, as in a mounted ConfigMap", async () => {
    const directory = directoryOf({
      [`..data/${name}`]: 'import { ids } from "./ids.ts"; export default { reached: ids };',
      "..data/ids.ts": "export const ids: string = 'linked';",
    });
    symlinkSync(`..data/${name}`, path.join(directory, name));

    expect(await withPermissions(path.join(directory, name))).toEqual({ reached: "linked" });
  });

  it("not read what is hidden in a package of its workspace", async () => {
    const attempt = 'return read(here("../node_modules/shared/.env"))';
    const directory = directoryOf({
      ...packages,
      [`app/${name}`]: moduleOf(attempt),
      "shared/checks/.env": "hidden",
    });
    link(directory, "shared", "shared/checks");

    expect(await withPermissions(path.join(directory, "app", name))).toHaveProperty("refused");
  });
});

it.each([
  [
    "a file beside its folder",
    'export { default } from "../hosts.ts";',
    /only files below its folder/,
  ],
  [
    "a file of the machine",
    'import { readFileSync } from "node:fs"; export default readFileSync("/etc/hostname");',
    /:1:\d+: cannot be loaded: it has no permission FileSystemRead of \/etc\/hostname: read that beforehand into a file of its folder, or use YAML$/,
  ],
  [
    "the network",
    'await fetch("http://127.0.0.1:8080"); export default {};',
    /cannot be loaded: it has no permission Net/,
  ],
])("says what to do instead of reading %s", async (_what, text, fault) => {
  expect(await faultsOf({ [name]: text })).toEqual([expect.stringMatching(fault)]);
});

it("refuses a file whose path has a star, which to Node is everything", () => {
  const directory = directoryOf({ [`*/${name}`]: "export default {}" });

  expect(() => runChild(path.join(directory, "*", name), limits)).toThrow("has a * in its path");
});

/** Processes that have a file among their arguments. */
const runningWith = (file: string) =>
  execFileSync("ps", ["-ewwo", "args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(file) && !line.includes("runChild"));

const gone = { withinMs: 10_000, what: "the end of the process" };

const neverEnding = [
  ["computes", "for (;;);"],
  ["waits", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"],
  [
    "ignores signals",
    'for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(signal, () => {}); for (;;);',
  ],
];

it.each(neverEnding)("nothing of a file that %s is left after its time", async (_what, text) => {
  const file = path.join(directoryOf({ [name]: text ?? "" }), name);

  await expect(runChild(file, { ...limits, withinMs: 500 })).rejects.toThrow("did not load");

  await waitFor(() => runningWith(file).length === 0, gone);
});

it.each(neverEnding)("nothing of a file that %s outlives a killed parent", async (_what, text) => {
  const file = path.join(directoryOf({ [name]: text ?? "" }), name);
  const script = `import { runChild } from "#definitions/file/typescript/run-child.ts";
    await runChild(process.argv[1], { withinMs: 600_000, largestResult: 1_000 });`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script, file], {
    stdio: "ignore",
  });
  await waitFor(() => runningWith(file).some((line) => line.includes("child.ts")), {
    withinMs: 10_000,
    what: "the process",
  });

  parent.kill("SIGKILL");

  await waitFor(() => runningWith(file).length === 0, gone);
});

it.each([
  ["no JSON", "{"],
  ["another shape", '{"kind":"loaded","data":{},"unfit":{}}'],
  [
    "deep nesting",
    `{"kind":"loaded","unfit":[],"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  ],
])("a result that the file itself writes is refused: %s", async (_what, result) => {
  const text = `import { writeSync } from "node:fs"; writeSync(3, ${JSON.stringify(`${result}\n`)}); process.exit()`;

  const faults = await faultsOf({ [name]: text });

  expect(faults).toEqual([expect.stringMatching(/^vedette\.config\.ts: /)]);
  expect(faults[0]).not.toContain("call stack");
});
