import { afterEach, expect, it, vi } from "vitest";
import { loadCode } from "#definitions/file/typescript/load.ts";
import { NoResult, runChild } from "#definitions/file/typescript/run-child.ts";
import {
  directoryOf,
  faultsOf,
  readFiles,
} from "../../../../support/definitions/definition-files.ts";

const name = "vedette.config.ts";

afterEach(() => vi.unstubAllEnvs());

it("loads types, `vedette/config` without an installed package, and modules beside it", async () => {
  const { set } = await readFiles({
    [name]: [
      'import { defineConfig, standard, type VedetteConfig } from "vedette/config";',
      'import { ids } from "./ids.ts";',
      'const checks = ids.map((id): { id: string; path: string } => ({ id, path: "/" + id }));',
      "export default defineConfig({ extends: [standard], checks } satisfies VedetteConfig);",
    ].join("\n"),
    "ids.ts": "export const ids: readonly string[] = ['a', 'b'];",
  });

  expect(set.checks.slice(-2)).toMatchObject([{ path: "/a" }, { path: "/b" }]);
  expect(set.checks).toHaveLength(5);
});

it.each(["ts", "js"])("a module is one also in a folder of CommonJS: .%s", async (extension) => {
  const files = {
    [`vedette.config.${extension}`]:
      'import { defineConfig } from "vedette/config";\nexport default defineConfig({});',
    "package.json": '{ "type": "commonjs" }',
  };

  expect(await faultsOf(files)).toEqual([]);
});

it.each(["ts", "js"])(
  "a module is one in a folder of CommonJS with `import` and `export default` on one line: .%s",
  async (extension) => {
    const files = {
      [`vedette.config.${extension}`]:
        'import { defineConfig } from "vedette/config"; export default defineConfig({ checks: [{ id: "a", path: "/" }] });',
      "package.json": '{ "type": "commonjs" }',
    };

    expect((await readFiles(files)).set.checks).toMatchObject([{ id: "a" }]);
  },
);

it("a file of CommonJS whose comment names `export default` stays one", async () => {
  const files = {
    "vedette.config.js":
      "// Instead of this:\n/*\nexport default {};\n*/\nmodule.exports = { checks: [{ id: 'a', path: '/' }] };",
    "package.json": '{ "type": "commonjs" }',
  };

  expect((await readFiles(files)).set.checks).toMatchObject([{ id: "a" }]);
});

it("a file of CommonJS stays one", async () => {
  const files = {
    "vedette.config.js": "module.exports = { checks: [{ id: 'a', path: '/' }] };",
    "package.json": '{ "type": "commonjs" }',
  };

  expect((await readFiles(files)).set.checks).toMatchObject([{ id: "a" }]);
});

it("says where a row is written, wherever its list is, and only the path of one that code makes", async () => {
  const faults = await faultsOf({
    [name]: [
      'import { defineConfig } from "vedette/config";',
      'const ids: string[] = ["made"];',
      'const list = [{ id: "listed", path: "/", body: 1 }];',
      "export default defineConfig({",
      "  checks: [",
      "    ...ids.map((id) => ({ id, path: '/', body: 1 })),",
      "    ...list,",
      "    {",
      '      id: "own", path: "/",',
      "      body: 1,",
      "    },",
      "  ],",
      "});",
    ].join("\n"),
  });

  expect(faults).toEqual([
    `${name}: checks.made.body: expected an object, got a number`,
    `${name}:3:42: checks.listed.body: expected an object, got a number`,
    `${name}:10:7: checks.own.body: expected an object, got a number`,
  ]);
});

it.each([
  [
    "a type error that is none of the syntax",
    "export default { checks: [], x: 1 as any as string }",
    ":1:30: x: is unknown",
  ],
  ["a mistake in the syntax", "export default {\n  checks: [1 2],\n}", ":2: cannot be loaded: "],
  [
    "an error that it throws",
    "const a = 1;\nthrow new Error('no luck');\nexport default {}",
    ":2:7: cannot be loaded: no luck",
  ],
  [
    "a package that is not there",
    "import 'no-such-package';\nexport default {}",
    ": cannot be loaded: Cannot find package 'no-such-package'",
  ],
  ["no default export", "export const a = 1;", ": has no default export"],
  ["what is not an object", "export default 12;", ": has to have locations"],
  [
    "a function",
    "export default { checks: [{ id: 'a', body: { at: () => 1 } }] }",
    ": checks.0.body.at: is a function: definitions are plain data",
  ],
  ["a date", "export default { checks: [new Date(0)] }", ": checks.0: is an instance of Date"],
  ["a promise", "export default Promise.resolve({})", ": is an instance of Promise"],
  [
    "a circle",
    "const a: any = { checks: [] }; a.checks.push(a); export default a",
    ": checks.0: is in a circle",
  ],
  [
    "an await that never ends",
    "await new Promise(() => {});\nexport default {}",
    ": ended before it had definitions",
  ],
  ["an end of its own", "process.exit(3);\nexport default {}", ": ended with exit code 3"],
  ["an enum", "enum A { B }\nexport default {}", ": cannot be loaded: "],
])("refuses %s", async (_what, text, fault) => {
  const faults = await faultsOf({ [name]: text });

  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^vedette\.config\.ts:/);
  expect(faults[0]).toContain(fault);
});

it("says where JavaScript has a mistake in its syntax", async () => {
  const faults = await faultsOf({ "vedette.config.mjs": "export default {\n  a b\n};\n" });

  expect(faults[0]).toMatch(/^vedette\.config\.mjs:2:5: cannot be loaded: /);
});

it.each(["VEDETTE_SECRET_SHOP", "NODE_AUTH_TOKEN"])(
  "does not give the file %s of the environment",
  async (secret) => {
    vi.stubEnv(secret, "hidden");

    const { set } = await readFiles({
      [name]: `export default { checks: [{ id: 'a', path: '/' + process.env.${secret} }] }`,
    });

    expect(set.checks[0]).toMatchObject({ path: "/undefined" });
  },
);

it("keeps what the file prints away from its result", async () => {
  const text =
    "console.log('{}'); console.error('x'); setInterval(() => {}, 1000); export default {}";

  expect((await readFiles({ [name]: text })).files).toEqual([name]);
});

it("gives up a file that does not load in time", async () => {
  const directory = directoryOf({ [name]: "for (;;);" });

  const loading = runChild(`${directory}/${name}`, { withinMs: 300, largestResult: 1_000 });

  await expect(loading).rejects.toThrow(new NoResult("did not load within 0.3 s"));
});

it("gives up a file of endless definitions", async () => {
  const directory = directoryOf({ [name]: `export default "x".repeat(3_000_000)` });

  const loading = runChild(`${directory}/${name}`, { withinMs: 60_000, largestResult: 1_048_576 });

  await expect(loading).rejects.toThrow("is more than 1 MiB of definitions");
});

it("says what to do on a Node that reads no TypeScript", async () => {
  const loading = loadCode("", "/x/vedette.config.ts", false);

  await expect(loading).rejects.toThrow(
    "cannot read vedette.config.ts: use Node 22.18 or newer, or write vedette.config.yaml or vedette.config.json",
  );
});
