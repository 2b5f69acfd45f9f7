/** Calls to the running alert manager: which configuration it runs, and its reload. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { readBody } from "#kernel/body.ts";
import { errors, request } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { environmentOfTools, type ProgramEnd, runProgram } from "#kernel/process.ts";
import type { AlertmanagerSettings } from "./config.ts";

/** The alert manager cannot be reached, or refuses; `message` says what to do. */
class AlertmanagerError extends Error {}

type RunningState = {
  /** The hash of the configuration that it runs, as `hashConfig` computes it. */
  configHash: number;
  /** false: it rejected the configuration at its last reload. */
  isLastReloadGood: boolean;
};

export type RunningConfig = {
  readState: () => Promise<RunningState>;
  /** Throws with its reason when it rejects the file; it continues with the configuration it has. */
  reload: () => Promise<void>;
};

const timeoutMs = 5_000;

/** Generous: its metrics are about 100 KB. */
const longestAnswerBytes = 4 * 1024 * 1024;

/** `address` may have a user and a password before the host, for basic authentication. */
export function connectRunning(address: string): RunningConfig {
  const endpoint = endpointOf(address);
  const { url } = endpoint;
  return {
    async readState() {
      const { status, text } = await call(endpoint, "GET", "/metrics");
      const configHash = readMetric(text, "alertmanager_config_hash");
      const isGood = readMetric(text, "alertmanager_config_last_reload_successful");
      if (status === 200 && configHash !== undefined && isGood !== undefined) {
        return { configHash, isLastReloadGood: isGood === 1 };
      }
      throw new AlertmanagerError(
        `${url}/metrics (${status}) has no metrics of a configuration: is an Alertmanager there?`,
      );
    },
    async reload() {
      const { status, text } = await call(endpoint, "POST", "/-/reload");
      if (status === 200) return;
      const reason = cleanWords(text.trim().split("\n")[0] ?? "", 300);
      throw new AlertmanagerError(`it rejects its configuration (${status}): ${reason}`);
    },
  };
}

/** The number in `0.28.1+ds`, as it says itself; undefined: it does not say, or not now. */
export async function askVersion(address: string): Promise<string | undefined> {
  const answer = await call(endpointOf(address), "GET", "/api/v2/status").catch(() => undefined);
  return /"version"\s*:\s*"v?(\d{1,9}\.\d{1,9}[.\d]{0,9})/.exec(answer?.text ?? "")?.[1];
}

/** Hashes a configuration as Alertmanager's metrics do: the first 48 bits of the file's MD5, little-endian. */
export function hashConfig(text: string): number {
  return createHash("md5").update(text).digest().readUIntLE(0, 6);
}

/** Waits until it runs exactly this configuration. After `withinMs` throws the reason why it does not. */
export async function awaitConfig(
  running: RunningConfig,
  text: string,
  withinMs: number,
): Promise<void> {
  const wanted = hashConfig(text);
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const found = await running.readState().catch((error: unknown) => error as Error);
    if (!(found instanceof Error) && found.configHash === wanted) return;
    if (performance.now() > deadlineMs) throw timeoutError(found);
    await delay(100);
  }
}

function timeoutError(found: RunningState | Error): Error {
  if (found instanceof Error) return found;
  const reason = found.isLastReloadGood
    ? "it has read another configuration: is config_file the file that it reads?"
    : "it rejects its configuration: its log says why";
  return new AlertmanagerError(reason);
}

function readMetric(text: string, name: string): number | undefined {
  const value = new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

type Endpoint = { /** Without the password. */ url: string; headers: Record<string, string> };

function endpointOf(address: string): Endpoint {
  const url = new URL(address);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  const pair = [username, password].map(decodeURIComponent).join(":");
  const basic = `Basic ${Buffer.from(pair).toString("base64")}`;
  return {
    url: url.href.replace(/\/+$/, ""),
    headers: username === "" ? {} : { authorization: basic },
  };
}

async function call(
  { url, headers }: Endpoint,
  method: "GET" | "POST",
  path: string,
): Promise<{ status: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, body } = await request(`${url}${path}`, { method, headers, signal });
    const whole = await readBody(body, longestAnswerBytes);
    if (whole === undefined) throw new errors.ResponseExceededMaxSizeError();
    const answer = { status: statusCode, text: whole.toString() };
    if (![401, 403].includes(answer.status)) return answer;
  } catch (cause) {
    const { code, name } = cause as NodeJS.ErrnoException;
    throw new AlertmanagerError(`the alert manager at ${url} cannot be reached (${code ?? name})`, {
      cause,
    });
  }
  throw new AlertmanagerError(`${url} requires a user and a password: set them in its url`);
}

// Makes the alert manager read its files and secrets again.

type Reload = (secrets: readonly string[]) => Promise<void>;

type Settings = Pick<AlertmanagerSettings, "url" | "reload_command" | "reload_timeout_seconds">;

/** By the operator's command, else a call to its url, else none: tokens are read at each message. Quotes no secret. */
export function createReload(settings: Settings): Reload {
  const { url, reload_command: argv, reload_timeout_seconds: seconds } = settings;
  if (argv.length > 0) {
    return (secrets) => runReload(argv, { timeoutMs: seconds * 1_000, secrets });
  }
  return async () => {
    if (url !== "") await connectRunning(url).reload();
  };
}

/** The command failed; `message` says why and quotes the last line of its output. */
class ReloadError extends Error {}

/** `secrets` are removed from quoted output, should the command print them. */
type ReloadOptions = { timeoutMs: number; secrets: readonly string[] };

/** Resolves once the command has ended with 0. After `timeoutMs` it is killed with all processes that it started. */
export async function runReload(argv: readonly string[], options: ReloadOptions): Promise<void> {
  const [command = "", ...args] = argv;
  const env = environmentOfTools(process.env);
  const end = await runProgram({ command, args, env }, { limitMs: options.timeoutMs });
  if (end.kind === "ended" && end.code === 0) return;
  throw new ReloadError(`${command} ${describe(end, options)}`);
}

function describe(end: ProgramEnd, { timeoutMs, secrets }: ReloadOptions): string {
  if (end.kind === "unstarted") return `cannot be started (${end.code}); is it installed here?`;
  if (end.kind !== "ended") return `did not end within ${timeoutMs / 1_000} s`;
  const how = end.code === null ? `was ended by ${end.signal}` : `ended with ${end.code}`;
  return `${how}${quoteLast(end.words, secrets)}`;
}

function quoteLast(output: string, secrets: readonly string[]): string {
  const last = output.trim().split("\n").pop()?.trim() ?? "";
  const safe = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), last);
  return safe === "" ? "" : `: ${safe.replaceAll(/\p{Cc}+/gu, " ").slice(0, 300)}`;
}
