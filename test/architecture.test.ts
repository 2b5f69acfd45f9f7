/** The import table of docs/architecture.md, "Layers", checked: each folder of src is a slice. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  findCircle,
  foldersOf,
  modulesOf,
  readImports,
  specifiersOf,
} from "./support/repository/import-graph.ts";

const contracts = "contract.ts";
/** What a slice does for commands that need no running program. */
const commands = "commands.ts";

/** A slice's public files: `contract.ts`, and beside it those with a subject before that. */
const isContract = /^[a-z-]+\/(?:[a-z-]+[/-])?contract\.ts$/;

/** What each folder of src may import with `#`. Everything else is private to its folder. */
const mayImport: Record<string, readonly string[]> = {
  kernel: [],
  journals: [],
  blame: ["kernel/"],
  alerts: ["kernel/", "blame/contract.ts"],
  routing: ["kernel/", "alerts/contract.ts"],
  embedded: ["kernel/"],
  fleet: ["kernel/"],
  monitor: [
    "kernel/",
    "blame/contract.ts",
    "alerts/contract.ts",
    "alerts/rows/contract.ts",
    "alerts/order.ts",
    "alerts/outbox.ts",
    "alerts/outcome.ts",
  ],
  definitions: [
    "kernel/",
    "alerts/contract.ts",
    "alerts/rows/contract.ts",
    "cron/contract.ts",
    "monitor/contract.ts",
    "monitor/hosted/contract.ts",
    "monitor/kinds/contract.ts",
    "rollout/gates/contract.ts",
    "routing/contract.ts",
  ],
  metrics: ["kernel/"],
  cron: ["kernel/", "alerts/contract.ts"],
  registry: ["kernel/"],
  ci: ["kernel/"],
  sentinel: ["kernel/"],
  worker: ["kernel/"],
  api: ["kernel/"],
  audit: ["kernel/"],
  rollout: [
    "kernel/",
    "blame/contract.ts",
    "alerts/contract.ts",
    "ci/contract.ts",
    "fleet/contract.ts",
    "fleet/deploys/contract.ts",
    "fleet/drift-contract.ts",
  ],
  status: [
    "kernel/",
    "alerts/contract.ts",
    "fleet/contract.ts",
    "fleet/overview/contract.ts",
    "monitor/results/contract.ts",
    "rollout/contract.ts",
    "worker/contract.ts",
  ],
  control: ["kernel/", contracts],
  client: [contracts],
  testing: ["kernel/", "embedded/", "worker/"],
  /** The only one that knows everybody. */
  app: [""],
  cli: ["kernel/", contracts, commands, "app/", "config.ts"],
  console: ["kernel/", contracts],
};

function isAllowed(specifier: string, allowed: readonly string[]): boolean {
  const target = specifier.slice(1);
  return allowed.some((entry) =>
    entry === contracts
      ? isContract.test(target)
      : entry === commands
        ? /^[a-z-]+\/(?:[a-z-]+\/)?commands\.ts$/.test(target)
        : target.startsWith(entry),
  );
}

it.each(globSync("src/*/**/*.{ts,tsx}"))("%s imports only what its folder may", (file) => {
  const folder = file.split("/")[1] ?? "";
  const allowed = [`${folder}/`, ...(mayImport[folder] ?? [])];

  const strangers = specifiersOf(file)
    .filter((specifier) => specifier.startsWith("#") || specifier.startsWith("../"))
    .filter((specifier) => !isAllowed(specifier, allowed));

  expect(strangers).toEqual([]);
});

it("requests are made by kernel/http.ts, which reads answers as other systems send them", () => {
  const others = globSync("src/!(kernel)/**/*.{ts,tsx}").filter((file) =>
    /^(?:import (?!type )[^;]*|export [^;]*)from "undici";/m.test(readFileSync(file, "utf8")),
  );

  expect(others).toEqual([]);
});

/** Schemas would make the page twice as large, and their library compiles code, which the page's policy forbids. */
it.each(globSync("src/console/web/**/*.{ts,tsx}"))(
  "%s imports only the types of contracts",
  (file) => {
    const text = readFileSync(file, "utf8");
    const imports = text.matchAll(/^import (?!type )([^;]*?) from "#[^"]*[/-]contract\.ts";/gm);

    const values = [...imports]
      .flatMap(([, names = ""]) => names.replaceAll(/[{}]/g, "").split(","))
      .map((name) => name.trim())
      .filter((name) => name !== "" && !name.startsWith("type "));

    expect(values).toEqual([]);
  },
);

/** The table of docs/architecture.md, "Layers", as `mayImport` has it. */
function documentedImports(): Record<string, string[]> {
  const page = readFileSync("docs/architecture.md", "utf8");
  const table = /\n\| Folder .*\n.*\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? "";
  const namesIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  const rows = table.split("\n").flatMap((line) => {
    const [, folders, targets = ""] = line.split("|");
    const allowed = targets.trim() === "everything" ? [""] : namesIn(targets);
    return namesIn(folders).map((folder) => [folder, allowed.toSorted()] as const);
  });
  return Object.fromEntries(rows);
}

it("docs/architecture.md has the same table", () => {
  const sorted = Object.entries(mayImport).map(([folder, allowed]) => [folder, allowed.toSorted()]);

  expect(documentedImports()).toEqual(Object.fromEntries(sorted));
});

const imports = readImports();

it.each(foldersOf(imports))("what lies in %s is in layers: no circle of imports", (folder) => {
  expect(findCircle(imports, folder)).toBeNull();
});

it.each(globSync("src/**/*.{ts,tsx}"))("%s fits on five screens", (file) => {
  const lines = readFileSync(file, "utf8").split("\n").length;

  expect(lines).toBeLessThanOrEqual(300);
});

it("no service is given up after a number of attempts of its own", () => {
  const policies = globSync("src/**/*.ts")
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/\bretryPolicy: *([^,}\n]+)/g)])
    .map((match) => match[1]?.trim());

  expect(new Set(policies)).toEqual(new Set(["forEver", "untilDone"]));
});

it.each(globSync("src/**/*.ts", { exclude: ["src/console/web/**"] }))(
  "%s reads answers of others up to a limit only",
  (file) => {
    expect(readFileSync(file, "utf8")).not.toMatch(
      /\bbody\.(?:text|json|arrayBuffer|bytes|blob)\(/,
    );
  },
);

it("a local sentinel loads no package at its start: a machine runs many of them", () => {
  const packages = modulesOf("src/sentinel/main.ts").filter((name) => !name.startsWith("node:"));

  expect(packages).toEqual([]);
});

it("a local sentinel imports no module of Node that loads its fetch along, or TLS", () => {
  const heavy = ["node:http", "node:http2", "node:https", "node:tls", "node:zlib"];

  expect(modulesOf("src/sentinel/main.ts").filter((name) => heavy.includes(name))).toEqual([]);
});
