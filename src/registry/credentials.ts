/** Credentials for registries, from the environment or Docker's own configuration. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { readSecretVariable } from "#kernel/files.ts";
import { cleanText } from "#kernel/text.ts";
import type { RegistryConfig } from "./config.ts";
import { refuse } from "./image-name.ts";

/** An identity token is what `docker login` stores for registries that issue tokens themselves. */
export type Credential = { user: string; password: string } | { identityToken: string };

/** `repository`: of the image, without its registry. undefined: no credential, connect anonymously. */
export type FindCredential = (registry: string, repository?: string) => Credential | undefined;

/** An entry of `docker_config` that no image gets a credential from. No field has a secret. */
export type UselessEntry = { file: string; entry: string; reason: string };

const variablePrefix = "REGISTRY_AUTH_";

/**
 * Finds a credential first in the variable `REGISTRY_AUTH_<HOST>` = "user:password" (`REGISTRY_AUTH_GHCR_IO`:
 * upper case, `-` as `__`, other characters than letters and digits as `_`) or the file that `REGISTRY_AUTH_<HOST>_FILE`
 * names, then in the file `docker_config` (empty: no file): a Docker `config.json` or `.dockercfg`, or a pull secret of
 * Kubernetes, whose keys are matched as the kubelet does. Does not run that file's credential helpers. Calls `onUseless`
 * for each of its entries that cannot be used. Throws, without quoting a secret, when a variable or the file cannot be
 * read. The returned function throws a `ProblemError` (registry_auth) when a variable may be meant for another registry.
 */
export function createFindCredential(
  environment: NodeJS.ProcessEnv,
  { docker_config: file, allowed }: Pick<RegistryConfig, "docker_config" | "allowed">,
  onUseless: (entry: UselessEntry) => void = () => {},
): FindCredential {
  const fromEnvironment = readEnvironment(environment);
  const fromFile = file === "" ? () => undefined : readDockerConfig(file, onUseless);
  return (registry, repository = "") => {
    const shared = fromEnvironment.get(sharedName(registry));
    // With a list of allowed registries we contact no others, so that a shared name is safe.
    const isSure = allowed.length > 0 || !registry.includes("-");
    const own = fromEnvironment.get(ownName(registry)) ?? (isSure ? shared : undefined);
    const found = own ?? fromFile(registry, repository);
    if (found === undefined && shared !== undefined) throw refuseShared(registry);
    return found;
  };
}

/** Unique to one registry, because no host name has two adjacent dots. */
function ownName(registry: string): string {
  return sharedName(registry.replaceAll("-", "--"));
}

/** The same for a host with a dot in place of a dash, which may have another owner. */
function sharedName(registry: string): string {
  return variablePrefix + registry.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

function refuseShared(registry: string) {
  const detail = `${sharedName(registry)} may be meant for another registry than ${registry}`;
  return refuse("registry_auth", `${detail}; if not, rename it to ${ownName(registry)}`);
}

function readEnvironment(environment: NodeJS.ProcessEnv): Map<string, Credential> {
  const all = Object.keys(environment).map((name) => name.replace(/_FILE$/, ""));
  // `REGISTRY_AUTH_FILE` is another program's, and has no host.
  const names = new Set(all.filter((name) => name.startsWith(variablePrefix)));
  return new Map(
    [...names].flatMap((name) => {
      const pair = readSecretVariable(environment, name);
      if (pair === undefined) return [];
      const credential = splitPair(pair);
      if (credential === undefined) throw new Error(`${name} is not "user:password"`);
      return [[name, credential] as const];
    }),
  );
}

/** A password may hold colons, a user name may not (RFC 7617, section 2). undefined: there is no user. */
function splitPair(pair: string): Credential | undefined {
  const colon = pair.indexOf(":");
  return colon > 0 ? { user: pair.slice(0, colon), password: pair.slice(colon + 1) } : undefined;
}

/** A value of another type counts as absent. */
const Text = z.string().catch("");
const Login = z
  .object({ auth: Text, username: Text, password: Text, identitytoken: Text })
  .catch({ auth: "", username: "", password: "", identitytoken: "" });
const DockerConfig = z.looseObject({
  kind: z.never().optional(),
  auths: z.record(z.string(), z.unknown()).nullish(),
  credHelpers: z.record(z.string(), z.string()).nullish(),
  credsStore: Text,
});

function readDockerConfig(
  file: string,
  onUseless: (entry: UselessEntry) => void,
): (registry: string, repository: string) => Credential | undefined {
  const found = new Map<string, Credential>();
  const report = (key: string, reason: string) =>
    onUseless({ file, entry: cleanText(key.replace(/^(\w+:\/\/)?[^/]*@/, "$1"), 200), reason });
  for (const [key, login, helper] of loginsOf(parseDockerConfig(file))) {
    const name = nameOf(key);
    const credential = toCredential(login, helper);
    if (name === undefined) report(key, "it is not host[:port][/path], with * only in the host");
    else if (typeof credential === "string") report(key, credential);
    else if (found.has(name)) report(key, `an earlier entry is for ${name}, too`);
    else found.set(name, credential);
  }
  // The order is the kubelet's: of one host the longest path first, and a host before a pattern.
  const names = [...found.keys()].sort().reverse();
  return (registry, repository) => {
    const name = names.find((one) => isFor(one, registry, repository));
    return name === undefined ? undefined : found.get(name);
  };
}

/** Key, login and helper of each; one without a login stands for a file that has none. */
function loginsOf({ credsStore, credHelpers, auths, ...others }: z.infer<typeof DockerConfig>) {
  // `.dockercfg` has them without a table of their own.
  const bare = Object.entries(others).filter(([key]) => /[.:]/.test(key));
  const logins = new Map(auths ? Object.entries(auths) : bare);
  const helpers = new Map(Object.entries(credHelpers ?? {}));
  const keys = new Set([...logins.keys(), ...helpers.keys()]);
  if (keys.size === 0) keys.add(credsStore === "" ? "auths" : "credsStore");
  return [...keys].map((key) => [key, logins.get(key), helpers.get(key) ?? credsStore] as const);
}

function parseDockerConfig(file: string): z.infer<typeof DockerConfig> {
  const source = `registry.docker_config: ${file}`;
  if (!existsSync(file)) throw new Error(`${source} does not exist`);
  try {
    return DockerConfig.parse(JSON.parse(readFileSync(file, "utf8").replace(/^\ufeff/, "")));
  } catch (error) {
    // Without the cause: the parser's message quotes the input, which is a secret.
    const { code = "another format" } = error as NodeJS.ErrnoException;
    const kinds = "a Docker configuration, or the decoded .dockerconfigjson of a Secret";
    throw new Error(`${source} cannot be read as ${kinds} (${code})`);
  }
}

/** A text says why there is none. Not all read both forms (findings/skopeo-passes-over-username-and-password.sh). */
function toCredential(value: unknown, helper: string): Credential | string {
  const { auth, username, password, identitytoken } = Login.parse(value);
  if (identitytoken !== "") return { identityToken: identitytoken };
  const pair = decodePair(auth);
  if (pair !== undefined) return pair;
  if (username !== "" && password !== "") return { user: username, password };
  if (auth !== "") return "its auth is not user:password in base64";
  if (helper === "") return "it has neither auth nor a username with a password";
  const detail = `its credential is with the helper ${cleanText(helper, 50)}, and none is run`;
  return `${detail}; set ${variablePrefix}<HOST>`;
}

/** Decodes either alphabet, with or without padding, in several lines. A line end after the password is cut off. */
function decodePair(auth: string): Credential | undefined {
  const text = auth.replace(/\s/g, "");
  if (!/^[\w+/-]+={0,2}$/.test(text)) return undefined;
  const pair = Buffer.from(text, "base64").toString();
  return splitPair(pair.replace(/[\0\r\n]+$/, ""));
}

/** `host[:port][/path]` of a key, which may be an address as well; undefined: it is neither. */
function nameOf(key: string): string | undefined {
  const name = key
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/^[^/]*@/, "")
    .replace(/^([^/]+)\/v[12](?=\/|$)/, "$1")
    .replace(/\/+$/, "")
    .replace(/^(index|registry-1)\.docker\.io(?=\/|$)/, "docker.io");
  const isName = /^(\[[\da-f:]+\]|[\w*.-]+)(:\d+)?(\/[\w.-]+)*$/.test(name);
  return isName ? name : undefined;
}

/** `*` stands for any characters of one part of a host; a path has whole parts of a repository's name. */
function isFor(name: string, registry: string, repository: string): boolean {
  const [, host = "", path = ""] = /^([^/]*)\/?(.*)$/.exec(name) ?? [];
  const pattern = host.replace(/[.[\]]/g, "\\$&").replace(/\*+/g, "[^.:]*");
  if (!new RegExp(`^${pattern}$`).test(registry)) return false;
  return path === "" || `${repository}/`.startsWith(`${path}/`);
}
