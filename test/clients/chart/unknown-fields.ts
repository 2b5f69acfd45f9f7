/** Fields that no type of the published models has, found by the compiler: for the groups that are not Kubernetes' own. */
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../support/temp-dir.ts";
import type { Manifest } from "./helm.ts";

const compiler = fileURLToPath(
  new URL("../../../node_modules/typescript/bin/tsc", import.meta.url),
);
const packages = fileURLToPath(new URL("../node_modules", import.meta.url));
const limitMs = 120_000;

/** `address`: of the module that has the models of the object's group. A line for each fault. */
export async function findUnknownFields(
  { kind, spec: literal }: Manifest,
  address: string,
): Promise<string[]> {
  const directory = tempDir();
  symlinkSync(packages, path.join(directory, "node_modules"));
  // Of a literal the compiler refuses every field that its type lacks.
  writeFileSync(
    path.join(directory, "object.ts"),
    `import type { ${kind} } from "${address}";
export const spec: ${kind}["spec"] = ${JSON.stringify(literal, null, 2)};
`,
  );
  const options = { strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", types: [] };
  writeFileSync(
    path.join(directory, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, files: ["object.ts"] }),
  );
  writeFileSync(path.join(directory, "package.json"), '{"type":"module"}');
  const said = await compile(directory);
  return said.split("\n").filter((line) => line !== "");
}

/** What the compiler says, which is nothing where all is well. */
function compile(directory: string): Promise<string> {
  const args = [compiler, "-p", directory, "--pretty", "false"];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout: limitMs }, (error, stdout, stderr) => {
      if (error !== null && stdout === "") reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
}
