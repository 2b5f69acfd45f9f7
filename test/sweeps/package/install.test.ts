/** What somebody gets who installs the npm package in an empty folder, on the oldest Node and on this one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Endpoints } from "#embedded/contract.ts";
import {
  installNode,
  installPackage,
  oldestNode,
  packCheckout,
} from "../../support/program/npm-package.ts";
import { freePorts } from "../../support/program/program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = "registry.example.com/vedette/sentinel:v2";

const dir = makeTempDir();
let checkout: Awaited<ReturnType<typeof packCheckout>>;

beforeAll(async () => {
  checkout = await packCheckout(dir.path);
});

afterAll(() => dir.remove());

it("packing leaves the checkout as it was", () => {
  expect(checkout.left).toEqual([]);
});

type Installed = Awaited<ReturnType<typeof installPackage>>;

describe.each([
  { version: oldestNode, options: [] },
  // Whoever has set this, as many have, gets no scripts of other packages either.
  { version: process.versions.node, options: ["--ignore-scripts"] },
])("on Node $version with $options", ({ version, options }) => {
  const own = makeTempDir();
  let installed: Installed;

  beforeAll(async () => {
    const nodeBin =
      version === process.versions.node
        ? path.dirname(process.execPath)
        : await installNode(own.path, version);
    installed = await installPackage(
      { dir: own.path, tarball: checkout.tarball, nodeBin },
      options,
    );
  });

  afterAll(() => own.remove());

  it("runs on that Node", async () => {
    expect((await installed.run("node", ["--version"])).trim()).toBe(`v${version}`);
  });

  it("has neither a Node nor a bundler nor the engine of analytics", () => {
    const names =
      "{node-linux-*,node-darwin-*,node-bin-*,vite,@preact,preact,chdb,@chdb,typescript,vitest}";

    expect(globSync(`node_modules/${names}`, { cwd: installed.home })).toEqual([]);
  });

  it("declares every package that it imports, and no other", () => {
    const root = path.join(installed.home, "node_modules/vedette");
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
      readFileSync(path.join(root, "package.json"), "utf8"),
    );
    const declared = { ...dependencies, ...optionalDependencies, ...peerDependencies };

    expect(importedPackages(root)).toEqual(Object.keys(declared).toSorted());
  });

  it("the command shows its help", async () => {
    const help = await installed.run("npx", ["vedette", "--help"]);

    expect(help).toContain("Usage: vedette");
  });

  it("starts with the files of init, rolls an image out and stops", async () => {
    await installed.run("npx", ["vedette", "init"]);
    const row = ["checks", "add", "http://127.0.0.1:9/health", "--json"];
    const { paste } = JSON.parse(await installed.run("npx", ["vedette", ...row]));
    const file = path.join(installed.home, "vedette.config.ts");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("checks: [", `checks: [\n    ${paste}`));
    const program = await startInstalled(installed);
    const rollout = ["vedette", "rollout", "start", image, "--wait"];
    const planned = await installed.run("npx", ["vedette", "config", "plan"]);
    const said = await installed.run("npx", rollout).finally(program.readPage);
    const end = await program.stop();

    expect(planned).toContain("nothing to change");
    expect(planned).toMatch(/warning: checks\.127-0-0-1-9-health.*: alerts nobody/);
    expect(said).toContain("completed");
    expect(program.page()).toContain('<div id="');
    expect(end.code).toBe(0);
    expect(end.output).toContain('"msg":"stopped"');
    expect(end.output).toContain("npm install chdb");
  });

  it("a program imports the client, and a file of definitions its function", async () => {
    const script = `
      import { createClient, VedetteError } from "vedette/client";
      import { defineConfig, standard } from "vedette/config";
      createClient({ url: "https://rollouts.example.com" });
      console.log(typeof VedetteError, typeof defineConfig, typeof standard);`;

    const said = await installed.run("node", ["--input-type=module", "-e", script]);

    expect(said.trim()).toBe("function function string");
  });

  it("the example of a service is tested on a Restate server of its own", async () => {
    for (const file of ["counter.mjs", "counter.test.mjs"])
      copyFileSync(path.join("examples/service-test", file), path.join(installed.home, file));

    const said = await installed.run("node", ["--test", "counter.test.mjs"]);

    expect(said).toMatch(/pass 1\b/);
  });

  it("the types are those of the requests and answers", async () => {
    writeFileSync(path.join(installed.home, "use.mts"), typedUse);
    const tsc = path.resolve("node_modules/typescript/bin/tsc");
    const settings = ["--module", "nodenext", "--strict", "--lib", "es2024,dom,dom.iterable"];

    const faults = await installed
      .run(process.execPath, [tsc, "--noEmit", ...settings, "--types", "", "use.mts"])
      .catch(({ stdout }: { stdout: string }) => stdout);

    expect(faults).toBe("");
  });
});

/** Compiles only if each answer has its type, and what is no request is refused. */
const typedUse = `
  import { createClient, type RolloutStatus } from "vedette/client";
  import { startTestRestate, type TestRestate } from "vedette/testing";
  const restate: TestRestate = await startTestRestate({ services: [] });
  const client = createClient({ url: "https://rollouts.example.com" });
  const status: RolloutStatus = await client.status();
  const sizes: number[] = (await client.plan({ image: "a.example.com/b:c" })).waves.map((wave) => wave.size);
  // @ts-expect-error: an image is needed
  await client.rollout({});
  // @ts-expect-error: a reason is needed
  await client.skip();
  // @ts-expect-error: no such field
  status.nonsense;
  console.log(sizes);
`;

/** The program of the package, on free ports, once it is ready. */
async function startInstalled({ home, env }: Installed) {
  const child = spawn("npx", ["vedette", "start"], {
    cwd: home,
    env: { ...env, ...freePorts, VEDETTE_FLEET__PROCESS__SIZE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const closed = once(child, "close");
  const file = path.join(home, ".vedette/endpoints.json");
  await waitFor(() => existsSync(file) || child.exitCode !== null, {
    withinMs: 120_000,
    what: "the program to be ready",
  });
  if (!existsSync(file)) throw new Error(`the program has ended: ${output}`);
  const endpoints = Endpoints.parse(JSON.parse(readFileSync(file, "utf8")));
  let page = "";
  return {
    readPage: async () => {
      page = await (await fetch(`${endpoints.control}/console`)).text();
    },
    page: () => page,
    /** By its own process: npx waits for it, and ends as it does. */
    stop: async () => {
      process.kill(endpoints.pid, "SIGTERM");
      const [code] = await closed;
      return { code: code as number | null, output };
    },
  };
}

/** The names of packages in the imports of what was compiled; `resolve` finds the embedded servers. */
function importedPackages(root: string): string[] {
  const pattern = /(?:\bfrom |\bimport |\bimport\(|resolve\()\s*"([^."#][^"]*)"/g;
  const files = globSync("lib/**/*.js", { cwd: root }).filter((file) => !foreign.has(file));
  const names = files
    .flatMap((file) => [...readFileSync(path.join(root, file), "utf8").matchAll(pattern)])
    .map(([, specifier = ""]) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1))
    .map((parts) => parts.join("/"));
  return [...new Set(names)].filter((name) => !isBuiltin(name)).toSorted();
}

/** The first builds the page where its sources are, which is not in the package; the others write an import. */
const foreign = new Set([
  "lib/console/build.js",
  "lib/monitor/export/checkly.js",
  "lib/cli/init.js",
]);
