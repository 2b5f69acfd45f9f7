/** Makes the alert manager read its files and secrets again. */
import { environmentOfTools, type ProgramEnd, runProgram } from "#kernel/run-program.ts";
import type { AlertmanagerSettings } from "#routing/alertmanager/config.ts";
import { connectRunning } from "./running.ts";

export type Reload = (secrets: readonly string[]) => Promise<void>;

type Settings = Pick<AlertmanagerSettings, "url" | "reload_command" | "reload_timeout_seconds">;

/**
 * The reload is by the operator's command or else by a call to its url. With neither it does nothing: Alertmanager reads a
 * token at every message that it sends. Errors never quote the secrets that the function is given.
 */
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
