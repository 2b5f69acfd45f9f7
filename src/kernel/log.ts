import { type Logger, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import { maskSecrets } from "./mask-secrets.ts";

export type Log = Logger;

export type LogSettings = { level: string; format: "auto" | "json" | "pretty" };

/** Fields that must never be printed, wherever a log line carries them. */
const secretPaths = ["authorization", "token", "key", "secret", "password"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** Fields with words that may quote what others have answered or were sent. */
const wordFields = ["detail", "reason", "cause", "fault", "line", "last_words"];

/** One JSON object per line on stdout; on a terminal the same lines in a readable form. */
export function createLog(settings: LogSettings): Log {
  const options = {
    ...{ level: settings.level, base: null, redact: secretPaths },
    formatters: { log: (fields: object) => maskIn(fields, wordFields) },
    serializers: {
      err: (error: unknown) =>
        error instanceof Error ? describeError(error) : maskSecrets(String(error)),
    },
  };
  const isPretty =
    settings.format === "pretty" || (settings.format === "auto" && process.stdout.isTTY === true);
  return isPretty
    ? pino(options, pretty({ sync: true, translateTime: "HH:MM:ss" }))
    : pino(options, pino.destination({ fd: 1, sync: true }));
}

/** Other members may have anything: of Postgres' errors the values of a row. */
function describeError(error: Error): Record<string, unknown> {
  const { type, message, stack, code, aggregateErrors } = stdSerializers.err(error);
  const causes = aggregateErrors?.map((one: Error) => one.message).join("; ");
  const words = { type, message, stack, ...(code !== undefined && { code }) };
  return maskIn({ ...words, ...(causes !== undefined && { causes }) }, [
    ...Object.keys(words),
    "causes",
  ]);
}

function maskIn(fields: object, names: readonly string[]): Record<string, unknown> {
  const masked: Record<string, unknown> = { ...fields };
  for (const name of names) {
    const words = masked[name];
    if (typeof words === "string") masked[name] = maskSecrets(words);
  }
  return masked;
}
