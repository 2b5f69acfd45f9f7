/** Builds the page, unless the files are of the same sources: after `npm ci`, and at a start with changed sources. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("../..", import.meta.url));
const source = path.join(root, "src/console/web");
const target = path.join(root, "dist/console");
const stampName = ".stamp";

export class BundlerMissing extends Error {}

/** The folder of the built page. Throws `BundlerMissing` if it cannot be built. The npm package has the page itself. */
export async function buildConsole(): Promise<string> {
  if (!existsSync(source)) return requirePage();
  if (!isFresh()) await buildAside();
  return target;
}

/** The stamp of a built page: `shared` are the sources outside of its folder, which the server uses, too. */
type Stamp = { shared: string[]; hash: string };

function isFresh(): boolean {
  const file = path.join(target, stampName);
  if (!existsSync(file)) return false;
  try {
    const { shared, hash } = JSON.parse(readFileSync(file, "utf8")) as Stamp;
    return hashOf(shared) === hash;
  } catch {
    // A source is not there any more.
    return false;
  }
}

function requirePage(): string {
  if (existsSync(path.join(target, stampName))) return target;
  throw new BundlerMissing(
    "dist/console, the console's page, is missing from the package: install it again",
  );
}

/** The hash of all sources of the page, except those that only name types. */
function hashOf(shared: readonly string[]): string {
  const hash = createHash("sha256");
  const files = globSync("**/*", { cwd: source, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const others = ["src/console/build.ts", "package.json", ...shared];
  const all = [...files, ...others.map((file) => path.join(root, file))];
  for (const file of all.sort()) hash.update(path.relative(root, file)).update(readFileSync(file));
  return hash.digest("hex");
}

/** Two programs may start at once: each builds in a folder of its own, and the last one replaces the target. */
async function buildAside(): Promise<void> {
  const aside = `${target}-${randomUUID()}`;
  await mkdir(path.dirname(target), { recursive: true });
  try {
    const shared = await runVite(aside);
    await compress(path.join(aside, "assets"));
    const stamp: Stamp = { shared, hash: hashOf(shared) };
    await writeFile(path.join(aside, stampName), JSON.stringify(stamp));
    await replace(aside);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Loads the bundler only when there is something to build. Returns the sources of the page outside of its folder. */
async function runVite(outDir: string): Promise<string[]> {
  const [{ build }, { default: preact }] = await importBundler();
  const used = new Set<string>();
  await build({
    root: source,
    base: "/console/",
    configFile: false,
    logLevel: "warn",
    plugins: [
      preact({ devToolsEnabled: false }),
      { name: "note", moduleParsed: ({ id }) => void used.add(id) },
    ],
    // The page's content security policy forbids inline content: small files must not be inlined.
    build: {
      outDir,
      emptyOutDir: false,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: "es2023",
      // Else a busy machine's build says that its plugins are slow, between the lines of the log.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  });
  const sources = path.join(root, "src") + path.sep;
  return [...used]
    .filter((id) => id.startsWith(sources) && !id.startsWith(source + path.sep))
    .map((id) => path.relative(root, id))
    .sort();
}

/** The bundler is optional: an installation that contains the built page does not need it. */
async function importBundler() {
  try {
    return await Promise.all([import("vite"), import("@preact/preset-vite")]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new BundlerMissing(
      "the console's page is not built, and its bundler, vite, is not installed: run `npm ci` with " +
        "optional packages once, or copy dist/console from an installation of the same version",
      { cause: error },
    );
  }
}

async function compress(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const file = path.join(dir, name);
    const content = await readFile(file);
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    await writeFile(`${file}.br`, brotliCompressSync(content, { params }));
    await writeFile(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
}

async function replace(aside: string): Promise<void> {
  const old = `${target}-${randomUUID()}`;
  if (existsSync(target)) await rename(target, old).catch(() => {});
  await rename(aside, target).catch((error: NodeJS.ErrnoException) => {
    // Another process was faster, with the same sources.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
  await rm(old, { recursive: true, force: true });
}

// The Dockerfile runs this file.
if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
