/** A sentinel's settings, from its environment: all users of the machine could read arguments. */
import { parseImageReference } from "#kernel/image-reference.ts";
import { readSecretVariable } from "#kernel/secret-file.ts";

export type SentinelSettings = {
  id: string;
  region: string;
  image: string;
  publicPort: number;
  /** The public API that verifies keys, and the root key to call it with. */
  apiUrl: string;
  rootKey: string;
  /** Required from callers of the private port. */
  privateToken: string;
  /** Empty: nothing to forward to. */
  upstreamUrl: string;
  /** Addresses (CIDR) of proxies in front, whose X-Forwarded-For is trusted. */
  trustedProxies: string[];
  /** A sentinel that has not been activated by then exits, because its driver has lost it. */
  activateWithinMs: number;
};

export function readSettings(environment: NodeJS.ProcessEnv): SentinelSettings {
  const text = (name: string) => environment[`SENTINEL_${name}`] ?? "";
  const settings = {
    id: text("ID"),
    region: text("REGION"),
    image: text("IMAGE"),
    publicPort: Number(text("PUBLIC_PORT")),
    apiUrl: text("API_URL"),
    rootKey: readSecretVariable(environment, "SENTINEL_ROOT_KEY") ?? "",
    privateToken: text("PRIVATE_TOKEN"),
    upstreamUrl: text("UPSTREAM_URL"),
    trustedProxies: text("TRUSTED_PROXIES").split(",").filter(Boolean),
    activateWithinMs: Number(text("ACTIVATE_WITHIN_MS")) || 900_000,
  };
  if (settings.id === "" || settings.image === "" || !(settings.publicPort > 0)) {
    throw new Error("SENTINEL_ID, SENTINEL_IMAGE and SENTINEL_PUBLIC_PORT must be set");
  }
  return settings;
}

/** The misbehaviour of an image, by the suffix of its tag: for demonstrations and tests of rollouts. */
export type Behaviour = "normal" | "crash" | "sick" | "slow";

/** With `-half` behind the suffix only on sentinels whose id ends in an even number. */
export function behaviourOf({ image, id }: Pick<SentinelSettings, "image" | "id">): Behaviour {
  const { tag = "" } = parseImageReference(image) ?? {};
  const [, suffix, half] = /-(crash|sick|slow)(-half)?$/.exec(tag) ?? [];
  const isSpared = half !== undefined && !/[02468]$/.test(id);
  return isSpared ? "normal" : ((suffix as Behaviour | undefined) ?? "normal");
}
