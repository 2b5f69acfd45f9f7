import { type Logger, pino } from "pino";
import pretty from "pino-pretty";

export type Log = Logger;

export type LogSettings = { level: string; format: "auto" | "json" | "pretty" };

/** Fields that must never be printed, wherever a log line carries them. */
const secretPaths = ["authorization", "token", "key", "secret", "password"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** One JSON object per line on stdout; on a terminal the same lines in a readable form. */
export function createLog(settings: LogSettings): Log {
  const options = { level: settings.level, base: null, redact: secretPaths };
  const isPretty =
    settings.format === "pretty" || (settings.format === "auto" && process.stdout.isTTY === true);
  return isPretty
    ? pino(options, pretty({ sync: true, translateTime: "HH:MM:ss" }))
    : pino(options, pino.destination({ fd: 1, sync: true }));
}
