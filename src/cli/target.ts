/** Finds the address of a running Vedette, and the token for it. */
import { statSync } from "node:fs";
import path from "node:path";
import type { z } from "zod";
import { Credentials, Endpoints } from "#embedded/contract.ts";
import { baseUrl, findUrlFault, isThisMachine, ownAddresses, portOf } from "#kernel/address.ts";
import { readToml } from "#kernel/documents.ts";
import { readIfThere, readSecretVariable } from "#kernel/files.ts";
import { ProblemError } from "#kernel/problem.ts";
import { isGone, isOwn, isServedByOwner } from "#kernel/process.ts";
import { complain, usageError } from "./print.ts";
import { hasEnded, readSession } from "./saved-session.ts";

export type TargetOptions = {
  url?: string | undefined;
  tokenFile?: string | undefined;
  dataDir?: string | undefined;
};

/** `source`: where the token was found. `isSession`: it is that of `vedette login`, which may end. */
export type Target = { url: string; token: string; source: string; isSession?: boolean };

type Environment = Record<string, string | undefined>;

/**
 * Reads address and token: options first, then the environment, then the session of `vedette login` at this
 * address, then the data directory of a local Vedette. An empty variable, as CI systems set them, counts as not
 * set. The local token is sent to the program that runs there alone: for any other address the caller must name one.
 */
export function findTarget(options: TargetOptions, environment: Environment): Target {
  const url = findUrl(options, environment);
  warnOfHttp(new URL(url));
  const named = readNamed(options, environment);
  requireOwnAddress(url, options, environment);
  if (named !== undefined) return { url, ...named };
  const session = readSession(url, environment);
  if (session === undefined) return findLocal(dataDirOf(options, environment), url);
  // Not the local token instead, which would make this call in another name.
  if (hasEnded(session, Date.now())) throw sessionEnded(url);
  return { url, token: session.token, source: "vedette login", isSession: true };
}

function readNamed({ tokenFile }: TargetOptions, environment: Environment) {
  if (tokenFile !== undefined) return { token: readToken(tokenFile), source: "--token-file" };
  const token = readSecretVariable(environment, "INGRESS_TOKEN");
  const source = environment["INGRESS_TOKEN"]?.trim() ? "INGRESS_TOKEN" : "INGRESS_TOKEN_FILE";
  return token === undefined ? undefined : { token, source };
}

/** Others may have made the folder that a command runs in, whose `.vedette` could lead anywhere, and to any file. */
export function requireOwnAddress(
  url: string,
  options: TargetOptions,
  environment: Environment,
): void {
  const named = environment["VEDETTE_CONTROL_URL"] || environment["VEDETTE_DATA_DIR"];
  if (options.url ?? options.dataDir ?? named) return;
  const file = path.resolve(dataDirOf(options, environment), "endpoints.json");
  const { uid, mode } = statSync(file);
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  const isHere = isThisMachine(host) || ownAddresses().includes(host);
  const isMine = uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0;
  const running = readFrom(file, controlUrl)?.process;
  const isRunning = running !== undefined && isOwn(running);
  if (isHere && isMine && isRunning && isServedByOwner(portOf(new URL(url)))) return;
  throw usageError(
    `${file} leads to ${url}, which is not known to be a Vedette of yours that runs on this machine: to send it your token, or to sign in there, name it by --url`,
  );
}

/** Warns, and does not refuse: http is usual within a cluster or a private network. */
export function warnOfHttp({ protocol, hostname, origin }: URL): void {
  if (protocol !== "http:" || isThisMachine(hostname)) return;
  complain(`${origin}: over http the token can be read on its way: use https`);
}

/** Says what a caller may do whose token is refused. */
export function tokenRefused({ url, source, isSession = false }: Target): ProblemError {
  if (isSession) return sessionEnded(url);
  return unauthorized(
    `the token was refused (from ${source}) by ${url}: run \`vedette login\`, or name another`,
  );
}

/** The address of control, without a trailing slash. */
export function findUrl(options: TargetOptions, environment: Environment): string {
  const named = options.url ?? environment["VEDETTE_CONTROL_URL"];
  const text = options.url ?? (named || readControlUrl(dataDirOf(options, environment)));
  return checkUrl(text).href.replace(/\/+$/, "");
}

/** Says what to do about a session that has ended. */
function sessionEnded(url: string): ProblemError {
  return unauthorized(
    `your session at ${url} has ended: run \`vedette login\`, or \`vedette logout\` to go on without one`,
  );
}

function unauthorized(detail: string): ProblemError {
  return new ProblemError({ status: 401, code: "unauthorized", detail });
}

export function dataDirOf({ dataDir }: TargetOptions, environment: Environment): string {
  return dataDir ?? (environment["VEDETTE_DATA_DIR"] || readDataDir(environment) || ".vedette");
}

/** The setting of the file that a start here reads; that file is no matter of a caller's that cannot read it. */
function readDataDir(environment: Environment): string | undefined {
  try {
    const { data_dir: dataDir } = readToml(environment["VEDETTE_CONFIG"] || "vedette.toml");
    return typeof dataDir === "string" ? dataDir : undefined;
  } catch {
    return undefined;
  }
}

function checkUrl(text: string): URL {
  const example = "http://127.0.0.1:7071";
  const fault = findUrlFault(text, baseUrl(example, "name the token by --token-file"));
  if (fault === undefined) return new URL(text);
  // Any part of a damaged address may be a password.
  const shown = /[@?#]/.test(text) ? "the url" : text;
  throw usageError(`${shown} is no address of control: it ${fault}`);
}

function readToken(file: string): string {
  const token = readIfThere(file)?.trim();
  if (token === undefined) throw usageError(`${file} cannot be read`);
  if (token === "") throw usageError(`${file} is empty; write the ingress token to it`);
  return token;
}

function readControlUrl(dataDir: string): string {
  const running = findRunning(dataDir);
  if (running !== undefined) return running;
  const detail = `no Vedette runs on ${path.resolve(dataDir)}: start one with "vedette start", or name another with --url`;
  throw new ProblemError({ status: 503, code: "unreachable", detail });
}

/** A killed Vedette leaves its file: another program may have its port now and must not get the token. */
function findRunning(dataDir: string): string | undefined {
  const found = readFrom(path.join(dataDir, "endpoints.json"), controlUrl);
  return found?.process !== undefined && isGone(found.process) ? undefined : found?.control;
}

const controlUrl = Endpoints.pick({ control: true, process: true });
const ingressToken = Credentials.pick({ ingress_token: true });

/** Compares the address that it listens at: the same port of another loopback address may be of another program. */
function findLocal(dataDir: string, href: string): Target {
  const url = new URL(href);
  const own = URL.parse((isThisMachine(url.hostname) && findRunning(dataDir)) || "");
  if (own !== null && own.protocol === url.protocol && portOf(own) === portOf(url)) {
    const file = path.join(dataDir, "credentials.json");
    const found = readFrom(file, ingressToken);
    if (found !== undefined) return { url: own.origin, token: found.ingress_token, source: file };
  }
  throw unauthorized(
    `no token for ${url.origin}: run \`vedette login\`, set INGRESS_TOKEN, or name a file with --token-file`,
  );
}

/** Reads only the fields that are needed: a newer or older Vedette may have written the file. */
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
