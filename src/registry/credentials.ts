/** Credentials for registries, from the environment or Docker's own configuration. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { readSecretVariable } from "#kernel/secret-file.ts";
import type { RegistryConfig } from "./config.ts";
import { refuse } from "./refusal.ts";

/** An identity token is what `docker login` stores for registries that issue tokens themselves. */
export type Credential = { user: string; password: string } | { identityToken: string };

/** undefined: no credential, connect anonymously. */
export type FindCredential = (registry: string) => Credential | undefined;

const DockerConfig = z.object({
  auths: z
    .record(
      z.string(),
      z.object({ auth: z.string().optional(), identitytoken: z.string().optional() }),
    )
    .default({}),
});
type DockerAuth = z.infer<typeof DockerConfig>["auths"][string];

const variablePrefix = "REGISTRY_AUTH_";

/**
 * Finds a credential first in the variable `REGISTRY_AUTH_<HOST>` = "user:password" (`REGISTRY_AUTH_GHCR_IO`:
 * upper case, `-` as `__`, other characters than letters and digits as `_`) or the file that `REGISTRY_AUTH_<HOST>_FILE`
 * names, then in `auths` of the file `docker_config` (empty: no file). Does not run that file's credential helpers. Throws, without quoting a
 * secret, when a variable or the file cannot be read. The returned function throws a `ProblemError`
 * (registry_auth) when a variable may be meant for another registry.
 */
export function createFindCredential(
  environment: NodeJS.ProcessEnv,
  { docker_config: file, allowed }: Pick<RegistryConfig, "docker_config" | "allowed">,
): FindCredential {
  const fromEnvironment = readEnvironment(environment);
  const fromFile = file === "" ? new Map<string, Credential>() : readDockerConfig(file);
  return (registry) => {
    const shared = fromEnvironment.get(sharedName(registry));
    // With a list of allowed registries we contact no others, so that a shared name is safe.
    const isSure = allowed.length > 0 || !registry.includes("-");
    const own = fromEnvironment.get(ownName(registry)) ?? (isSure ? shared : undefined);
    const found = own ?? fromFile.get(registry);
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
      return pair === undefined ? [] : [[name, splitPair(pair, name)] as const];
    }),
  );
}

/** A password may hold colons, a user name may not (RFC 7617, section 2). */
function splitPair(pair: string, source: string): Credential {
  const colon = pair.indexOf(":");
  if (colon <= 0) throw new Error(`${source} is not "user:password"`);
  return { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

function readDockerConfig(file: string): Map<string, Credential> {
  const source = `registry.docker_config: ${file}`;
  if (!existsSync(file)) throw new Error(`${source} does not exist`);
  const { auths } = parseDockerConfig(file, source);
  return new Map(
    Object.entries(auths).flatMap(([key, auth]) => {
      const credential = toCredential(auth, `${source}: the entry of ${key}`);
      return credential === undefined ? [] : [[hostOf(key), credential] as const];
    }),
  );
}

function parseDockerConfig(file: string, source: string): z.infer<typeof DockerConfig> {
  try {
    return DockerConfig.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // Without the cause: the parser's message quotes the input, which is a secret.
    throw new Error(`${source} is not a Docker configuration`);
  }
}

/** undefined: the entry has no secret, because a credential helper stores it. */
function toCredential(entry: DockerAuth, source: string): Credential | undefined {
  if (entry.identitytoken) return { identityToken: entry.identitytoken };
  return entry.auth ? splitPair(Buffer.from(entry.auth, "base64").toString(), source) : undefined;
}

/** Keys are hosts, or URLs as earlier versions of `docker login` wrote them: `https://index.docker.io/v1/`. */
function hostOf(key: string): string {
  const host = key
    .replace(/^https?:\/\//, "")
    .replace(/\/(v[12]\/?)?$/, "")
    .toLowerCase();
  return host === "index.docker.io" ? "docker.io" : host;
}
