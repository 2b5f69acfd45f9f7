/** Reads the secrets that rows name as `{{NAME}}`, and the hosts to which each may go; at every use. */
import { globSync } from "node:fs";
import path from "node:path";
import { portOf } from "./address.ts";
import { readSecretFile } from "./files.ts";
import { escapeText, escapeUnit } from "./text.ts";

/** A secret's name and its allowed destinations: `hosts` is the secret's list as written; undefined: there is none. */
export type Binding = { name: string; hosts: string | undefined };

/** A value that a step takes from an answer has the bindings of the secrets that the answer may repeat. */
export type Secret = { value: string; bindings: readonly Binding[] };

/** undefined: the secret is not set. */
export type ReadSecret = (name: string) => Secret | undefined;

/** The secrets of the API that checks call. They go nowhere else, whatever list they have. */
const ofApi: ReadonlySet<string> = new Set(["KEY", "ROOT_KEY"]);

/** Has a value for what is not set here, too, to find out where secrets would go. */
export function withUnset(readSecret: ReadSecret): ReadSecret {
  const unset = (name: string) => (ofApi.has(name) ? [{ name, hosts: undefined }] : []);
  return (name) => readSecret(name) ?? { value: "x", bindings: unset(name) };
}

/**
 * A secret is that of `given`, the settings, if it has the name and a value; else the environment's
 * `VEDETTE_SECRET_<NAME>`, the file that `VEDETTE_SECRET_<NAME>_FILE` names, or the file of its name in
 * `directory` (empty: there is none). Its hosts are the environment's `VEDETTE_SECRET_<NAME>_HOSTS`, or the file beside
 * that file whose name ends in `_HOSTS`. Space and line ends around it are no part of it, wherever it comes from.
 * Other variables are no secrets of checks, which go to other servers.
 */
export function createReadSecret(
  given: Readonly<Record<string, string>>,
  directory: string,
  environment: NodeJS.ProcessEnv = process.env,
): ReadSecret {
  const source = { directory, environment };
  return (name) => {
    // It is the list of another.
    if (name.endsWith("_HOSTS")) return undefined;
    const value = (Object.hasOwn(given, name) && given[name]?.trim()) || find(name, source);
    return value ? { value, bindings: [{ name, hosts: find(name, source, "_HOSTS") }] } : undefined;
  };
}

type Source = { directory: string; environment: NodeJS.ProcessEnv };

function find(name: string, { directory, environment }: Source, ending = ""): string | undefined {
  const file = environment[`VEDETTE_SECRET_${name}_FILE`];
  return (
    // The variable of a secret whose name ends so would name a file instead.
    (!`${name}${ending}`.endsWith("_FILE") &&
      environment[`VEDETTE_SECRET_${name}${ending}`]?.trim()) ||
    (file && readIfUsable(`${file}${ending}`)) ||
    (directory && readIfUsable(path.join(directory, `${name}${ending}`))) ||
    undefined
  );
}

/** Undefined for a file that is absent, unreadable, empty or too long: the check is off until it is there. */
function readIfUsable(file: string): string | undefined {
  try {
    return readSecretFile(file);
  } catch {
    return undefined;
  }
}

/** One line for each list of hosts that has an entry which is none. */
export function findFaultyHosts(
  directory: string,
  environment: NodeJS.ProcessEnv = process.env,
): string[] {
  const files = directory === "" ? [] : globSync("*_HOSTS", { cwd: directory });
  const names = [...Object.keys(environment), ...files.map((file) => `VEDETTE_SECRET_${file}`)]
    .map((variable) => /^VEDETTE_SECRET_([A-Z0-9_]+)_(?:HOSTS|FILE)$/.exec(variable)?.[1])
    .filter((name) => name !== undefined);
  return [...new Set(names)].flatMap((name) => {
    const hosts = find(name, { directory, environment }, "_HOSTS");
    return faultOfEntries(name, readPlaces(hosts)) ?? [];
  });
}

/** Destination of a text with secrets. */
export type Use = {
  /** Address with the secrets filled in; undefined: it cannot be read, and nobody knows who would receive them. */
  address: URL | undefined;
  /** The host as the row has it, without the secrets that may be part of it. */
  shown: string;
  /** The API that checks call; absent: its secrets may not be sent at all. */
  baseUrl?: string;
};

/** A secret that would go to where it does not belong. The message names no value. */
export class MisdirectedSecret extends Error {
  /** Its name. */
  secret = "";
  /** The step of a check with steps; 0: the first. */
  step = 0;
}

/** Throws a `MisdirectedSecret` for the first that may not go there. */
export function requireMeant(bindings: Iterable<Binding>, use: Use): void {
  for (const binding of bindings) {
    const fault = faultOf(binding, use);
    if (fault === undefined) continue;
    throw Object.assign(new MisdirectedSecret(fault), { secret: binding.name });
  }
}

export function catchMisdirected<Result>(work: () => Result): Result | MisdirectedSecret {
  try {
    return work();
  } catch (error) {
    if (error instanceof MisdirectedSecret) return error;
    throw error;
  }
}

function faultOf({ name, hosts }: Binding, { address, shown, baseUrl }: Use): string | undefined {
  if (ofApi.has(name)) {
    if (address !== undefined && isBelow(address, URL.parse(baseUrl ?? ""))) return undefined;
    return `{{${name}}} goes only below monitor.base_url, where ${shown} is not: name another secret`;
  }
  const setting = `VEDETTE_SECRET_${name}_HOSTS`;
  const refused = `{{${name}}} may not go to ${shown}: if it is meant for that host,`;
  if (hosts === undefined) {
    return `${refused} set ${setting} to ${shown.includes("{{") ? "it" : shown}`;
  }
  const places = readPlaces(hosts);
  const isMeant =
    address !== undefined && [hostOf(address), serverOf(address)].some((at) => places.includes(at));
  return faultOfEntries(name, places) ?? (isMeant ? undefined : `${refused} add it to ${setting}`);
}

/** Servers decode a path before they walk it: what is written as `%2e` or `%2f` leads up as well. */
const leadsUp = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[;/\\]|%2f|%5c)/i;

function isBelow(address: URL, base: URL | null): boolean {
  if (base === null || !isSameServer(address, base)) return false;
  const folder = base.pathname.replace(/\/*$/, "/");
  return `${address.pathname}/`.startsWith(folder) && !leadsUp.test(address.pathname);
}

/** True if two addresses lead to the same server in the same way. */
export function isSameServer(one: URL, other: URL): boolean {
  return one.protocol === other.protocol && serverOf(one) === serverOf(other);
}

/** The entries as `hostOf` and `serverOf` have them; undefined: one is none. */
function readPlaces(hosts = ""): (string | undefined)[] {
  const entries = hosts.split(/[\s,]+/).filter((entry) => entry !== "");
  return entries.map((entry) => {
    const url = /[/?#@\\*%{}]/.test(entry) ? null : URL.parse(`http://${entry}`);
    if (url === null || hostOf(url).split(".").includes("")) return undefined;
    const [, port] = /:(\d+)$/.exec(entry) ?? [];
    return port === undefined ? hostOf(url) : `${hostOf(url)}:${Number(port)}`;
  });
}

/** An entry is not quoted: a secret may have been given by mistake. */
function faultOfEntries(name: string, places: readonly (string | undefined)[]): string | undefined {
  const wrong = places.indexOf(undefined);
  if (wrong === -1) return undefined;
  return `VEDETTE_SECRET_${name}_HOSTS: entry ${wrong + 1} is no host such as shop.example.com, shop.example.com:8443 or [2001:db8::1]:8443`;
}

/** Returns the host as an http address has it, without the dot at its end; other schemes leave it as written. */
function hostOf({ hostname }: URL): string {
  return (URL.parse(`http://${hostname}`)?.hostname ?? hostname).replace(/\.$/, "");
}

function serverOf(url: URL): string {
  return `${hostOf(url)}:${portOf(url)}`;
}

/** The host and the port in the text of an address, which may have placeholders. */
export function hostIn(address: string): string {
  return /^(?:\w+:\/\/)?(?:[^/?#]*@)?([^/?#]*)/.exec(address)?.[1] ?? "";
}

export type Placeholder = {
  /** The way to the text that has it. */
  field: (string | number)[];
  /** The text between the braces; empty: they do not close, or are in the name of a field. */
  name: string;
};

/** The `{{NAME}}` in the texts of a row, which may have others inside. */
export function findPlaceholders(value: unknown, field: (string | number)[] = []): Placeholder[] {
  if (typeof value === "string") return inText(value).map((name) => ({ field, name }));
  if (typeof value !== "object" || value === null) return [];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : Object.entries(value);
  return entries.flatMap(([key, entry]) => [
    ...inText(`${key}`).map(() => ({ field: [...field, key], name: "" })),
    ...findPlaceholders(entry, [...field, key]),
  ]);
}

function inText(text: string): string[] {
  return [...text.matchAll(/\{\{(?:([^{}]*)\}\})?/g)].map(([, name = ""]) => name);
}

/** Hides secrets in a text of a server, which may echo those of the request. */
export function hideSecrets(reason: string, secrets: readonly string[]): string {
  // Longest first: a secret that is the beginning of another would leave the rest of that.
  const longestFirst = secrets.flatMap(writingsOf).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(hideSecret, reason);
}

/** The secret as it is, escaped for JSON, as several languages do, and pages, as in addresses and forms, in base16, and in base64. */
export function writingsOf(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const inPages = asJson.replace(/[&<>]/g, escapeUnit);
  const inAscii = asJson.replace(/[\u0080-\uffff]/g, escapeUnit);
  const inAddress = encodeURIComponent(secret.toWellFormed());
  const lower = inAddress.replace(/%../g, (code) => code.toLowerCase());
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inPage = escapeText(secret).replaceAll('"', "&quot;");
  const base16 = Buffer.from(secret).toString("hex");
  const slashed = [asJson, inAscii].map((text) => text.replaceAll("/", "\\/"));
  const others = [inPages, inAscii, ...slashed, lower, inForm, inPage, base16];
  // The text around a secret changes the characters at its ends.
  const base64 = [0, 1, 2].map((skipped) => {
    const bytes = Buffer.from(secret).subarray(skipped);
    return bytes.subarray(0, bytes.length - (bytes.length % 3)).toString("base64");
  });
  const long = base64.filter(({ length }) => length > shortestPart);
  return [...new Set([secret, asJson, inAddress, ...others, ...long])];
}

/** Hides the secret, and its beginning where a quotation was cut with `…`. A text of many such cuts is read once. */
function hideSecret(text: string, secret: string): string {
  const whole = text.replaceAll(secret, "***");
  if (secret.length < shortestPart) return whole;
  const head = secret.slice(0, shortestPart);
  let hidden = "";
  let done = 0;
  for (let at = whole.indexOf(head); at >= 0; at = whole.indexOf(head, Math.max(at + 1, done))) {
    let end = at + head.length;
    while (end - at < secret.length && whole[end] === secret[end - at]) end += 1;
    if (whole[end] !== "…") continue;
    hidden += `${whole.slice(done, at)}***`;
    done = end;
  }
  return hidden + whole.slice(done);
}

/** The shortest beginning of a secret to hide; fewer characters disclose nothing. */
const shortestPart = 4;
