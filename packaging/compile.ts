/** Compiles `src` to JavaScript, with the types of what the package exports. */
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const withinMs = 300_000;

/** Code for browsers: the package has it as the built page. */
const page = "console/web";

export type Compilation = {
  /** The checkout; its `lib` is made anew. */
  root: string;
  /** The files of `src` whose types are exported, with those that they import. */
  exported: readonly string[];
};

/** Throws an error with the compiler's words when something is not as it should be. */
export function compile({ root, exported }: Compilation): void {
  const lib = path.join(root, "lib");
  const draft = path.join(root, "dist/package-draft");
  for (const old of [lib, draft]) rmSync(old, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  copySource(path.join(root, "src"), path.join(draft, "src"));
  runCompiler(root, draft, { include: ["src"], declaration: false });
  runCompiler(root, draft, {
    files: exported.map((file) => `src/${file}`),
    declaration: true,
    emitDeclarationOnly: true,
  });
  rmSync(draft, { recursive: true });
}

/** With relative imports, which the compiler renames; everything that is not TypeScript goes to the package as it is. */
function copySource(source: string, target: string): void {
  const files = globSync("**/*", { cwd: source, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(source, path.join(entry.parentPath, entry.name)));
  for (const file of files.filter((name) => !name.startsWith(`${page}/`))) {
    const from = path.join(source, file);
    const isCode = file.endsWith(".ts");
    const to = path.join(isCode ? target : path.join(path.dirname(source), "lib"), file);
    mkdirSync(path.dirname(to), { recursive: true });
    if (isCode) writeFileSync(to, relativeImports(readFileSync(from, "utf8"), file));
    else cpSync(from, to);
  }
}

/** `#folder/x.ts` as it is named from this file, a path in `src`. */
export function relativeImports(text: string, file: string): string {
  return text.replaceAll(/(\bfrom |\bimport |\bimport\()"#([^"]+)"/g, (_, before, target) => {
    const relative = path.relative(path.dirname(file), target);
    return `${before}"${relative.startsWith(".") ? relative : `./${relative}`}"`;
  });
}

type Scope = {
  include?: string[];
  files?: string[];
  declaration: boolean;
  emitDeclarationOnly?: boolean;
};

function runCompiler(root: string, draft: string, { include, files, ...emit }: Scope): void {
  const settings = {
    extends: path.join(root, "packaging/tsconfig.json"),
    compilerOptions: {
      ...emit,
      noEmit: false,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: "src",
      outDir: path.join(root, "lib"),
    },
    ...(files === undefined ? { include } : { files, include: [] }),
    exclude: [],
  };
  const file = path.join(draft, "tsconfig.json");
  writeFileSync(file, JSON.stringify(settings));
  const compiler = path.join(root, "node_modules/.bin/tsc");
  try {
    execFileSync(compiler, ["-p", file], { encoding: "utf8", timeout: withinMs });
  } catch (error) {
    const { stdout = "", message } = error as { stdout?: string; message: string };
    throw new Error(`src does not compile for the package: ${stdout || message}`, { cause: error });
  }
}
