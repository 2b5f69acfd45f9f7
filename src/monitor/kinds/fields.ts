import { isIP } from "node:net";
import { z } from "zod";
import { findPlaceholders } from "#kernel/secrets.ts";
import { isClean } from "#kernel/text.ts";
import type { Complain } from "./kind.ts";

const label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
const hostName = new RegExp(`^(?:${label}\\.)*${label}$`);

export const isHostName = (given: string) => given.length <= 253 && hostName.test(given);

export const Host = z
  .string()
  .max(253)
  .refine(
    (given) => isIP(given) !== 0 || isHostName(given),
    "has to be the name or address of a host, such as db.example.com, without a port",
  )
  .describe("The name or address of the server.");

export const Port = z.int().min(1).max(65_535);

/** A text that is sent or expected as it is. */
export const Text = z
  .string()
  .min(1, "is empty")
  .max(4_096)
  .refine((given) => Buffer.byteLength(given) <= 4_096, "is longer than 4 KB");

/** A line for people. */
export const text = (longest: number) =>
  z
    .string()
    .trim()
    .min(1, "is empty")
    .max(longest)
    .refine((given) => isClean(given, longest), "has control characters");

/** Returns the usual notation: an address of IPv6, which has colons, is in brackets. */
export function withPort({ host, port }: { host: string; port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The name of a secret, which requests name as `{{NAME}}`; filled in when a request is sent. */
export const secretName = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/;

/** Complains of each placeholder that names no secret. */
export function lintSecrets(fields: object, complain: Complain): void {
  for (const { name, field } of findPlaceholders(fields)) {
    if (!secretName.test(name)) {
      complain(
        field,
        "between double braces is the name of a secret, such as {{API_KEY}}, and only in a value",
      );
    }
  }
}
