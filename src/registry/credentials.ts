/** Names and passwords for registries, from the environment or Docker's own configuration. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";

export type Credential = { user: string; password: string };

/** undefined: ask anonymously. */
export type FindCredential = (registry: string) => Credential | undefined;

const DockerConfig = z.object({
  auths: z
    .record(
      z.string(),
      z.object({ auth: z.string().optional(), identitytoken: z.string().optional() }),
    )
    .default({}),
});

/** `REGISTRY_AUTH_<HOST>` = "user:password" first, then `auths` of the file at `dockerConfig`. */
export function createFindCredential(
  environment: NodeJS.ProcessEnv,
  dockerConfig: string,
): FindCredential {
  const auths = dockerConfig === "" ? {} : readDockerConfig(dockerConfig).auths;
  return (registry) => {
    const fromEnvironment = environment[`REGISTRY_AUTH_${registry.replace(/[^A-Za-z0-9]/g, "_")}`];
    if (fromEnvironment !== undefined) return splitPair(fromEnvironment);
    const entry = auths[registry] ?? auths[`https://${registry}`];
    if (entry?.auth === undefined) return undefined;
    const pair = splitPair(Buffer.from(entry.auth, "base64").toString());
    return entry.identitytoken === undefined
      ? pair
      : { user: pair.user, password: entry.identitytoken };
  };
}

function splitPair(pair: string): Credential {
  const colon = pair.indexOf(":");
  return { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

function readDockerConfig(file: string): z.infer<typeof DockerConfig> {
  if (!existsSync(file)) throw new Error(`registry.docker_config: ${file} does not exist`);
  try {
    return DockerConfig.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // Without the cause: a parser quotes what it read, which is a secret here.
    throw new Error(`registry.docker_config: ${file} is not a Docker configuration`);
  }
}
