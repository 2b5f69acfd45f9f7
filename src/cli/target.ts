/** Where a running Vedette is, and the token for it. */
import path from "node:path";
import type { z } from "zod";
import { Credentials, Endpoints } from "#embedded/contract.ts";
import { isThisMachine } from "#kernel/address.ts";
import { isGone } from "#kernel/owned-process.ts";
import { readIfThere } from "#kernel/read-if-there.ts";

export type TargetOptions = {
  url?: string | undefined;
  tokenFile?: string | undefined;
  dataDir?: string | undefined;
};

export type Target = { url: string; token: string };

type Environment = Record<string, string | undefined>;

/**
 * Reads address and token: options first, then the environment, then the data directory of a local
 * Vedette. An empty variable, as CI systems leave them, is none. The local token stays on this
 * machine: with an address elsewhere one has to be named.
 */
export function findTarget(options: TargetOptions, environment: Environment): Target {
  const dataDir = options.dataDir ?? (environment["VEDETTE_DATA_DIR"] || ".vedette");
  const url = checkUrl(
    options.url ?? (environment["VEDETTE_CONTROL_URL"] || readControlUrl(dataDir)),
  );
  const href = url.href.replace(/\/+$/, "");
  if (options.tokenFile !== undefined) return { url: href, token: readToken(options.tokenFile) };
  const token = environment["INGRESS_TOKEN"] || readLocalToken(dataDir, url);
  return { url: href, token };
}

function checkUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${text} is no address; one looks like http://127.0.0.1:7071`);
  }
  return url;
}

function readToken(file: string): string {
  const token = readIfThere(file)?.trim();
  if (token === undefined) throw new Error(`${file} cannot be read`);
  if (token === "") throw new Error(`${file} is empty; it is to hold the ingress token`);
  return token;
}

function readControlUrl(dataDir: string): string {
  const found = readFrom(path.join(dataDir, "endpoints.json"), controlUrl);
  // One that was killed leaves its file: whoever has its port now is not to get the token.
  const hasEnded = found?.process !== undefined && isGone(found.process);
  if (found?.control !== undefined && !hasEnded) return found.control;
  throw new Error(
    `no Vedette runs on ${path.resolve(dataDir)}: start one with "npm start", or name another with --url`,
  );
}

const controlUrl = Endpoints.pick({ control: true, process: true });
const ingressToken = Credentials.pick({ ingress_token: true });

function readLocalToken(dataDir: string, url: URL): string {
  const found = isThisMachine(url.hostname)
    ? readFrom(path.join(dataDir, "credentials.json"), ingressToken)
    : undefined;
  if (found !== undefined) return found.ingress_token;
  throw new Error(
    `no token for ${url.origin}: set INGRESS_TOKEN, or name a file with --token-file`,
  );
}

/** Only the member that is needed is looked at: a newer or older Vedette may have written the file. */
function readFrom<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): z.infer<Schema> | undefined {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged`);
  }
}
