/** Runs the child process that loads a file, within limits. */
import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { programFile } from "#kernel/program-file.ts";
import { type LoadResult, resultDescriptor } from "./result.ts";

const withinMs = 10_000;
const largestResult = 16 * 1024 * 1024;

/** Why there is no result; what to do is in the message. */
export class NoResult extends Error {}

export type Limits = { withinMs: number; largestResult: number };

/** Rejects with `NoResult` when the child reports nothing, too much, or not in time. */
export function runChild(
  file: string,
  limits: Limits = { withinMs, largestResult },
): Promise<LoadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const child = spawn(process.execPath, [...flags, entry(), file], {
    env: reducedEnvironment(process.env),
    // What the file prints is not its result, and must not be mixed with that of a command.
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const fail = (reason: string, options?: ErrorOptions) => reject(new NoResult(reason, options));
  const timer = setTimeout(
    () => fail(`did not load within ${limits.withinMs / 1_000} s`),
    limits.withinMs,
  );
  readResult(child.stdio[resultDescriptor] as Readable, { largest: limits.largestResult })
    .then((text) => (text === undefined ? undefined : resolve(JSON.parse(text) as LoadResult)))
    .catch((error: Error) => fail(error.message));
  child.once("error", (cause) => fail(`cannot be loaded: ${cause.message}`, { cause }));
  child.once("close", (code) => fail(endedWithout(code)));
  return promise.finally(() => {
    clearTimeout(timer);
    child.kill("SIGKILL");
    (child.stdio[resultDescriptor] as Readable).destroy();
  });
}

/** Its warnings say nothing to the author of a file. */
const flags = [
  "--disable-warning=ExperimentalWarning",
  "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
];

const entry = () => programFile("#definitions/file/typescript/child.ts");

/** What Node needs; `NODE_AUTH_TOKEN` and the like are not among it. */
const needed = ["PATH", "HOME", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS"];

/** Secrets are no business of a file of definitions: it names them. */
function reducedEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => needed.includes(name)));
}

/** One line; undefined: there was none. */
async function readResult(
  stream: Readable,
  { largest }: { largest: number },
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > largest) throw new Error(`is more than ${largest / 1_048_576} MiB of definitions`);
    if (chunk.at(-1) === newline) return Buffer.concat(chunks).toString();
  }
  return undefined;
}

const newline = 10;

function endedWithout(code: number | null): string {
  if (code === 0 || code === unsettled) {
    return "ended before it had definitions: it calls process.exit, or awaits what never comes";
  }
  return `ended with ${code === null ? "a signal" : `exit code ${code}`} before it had definitions`;
}

/** Node's exit code when a top-level await never settles. */
const unsettled = 13;
