/** Refuses to start with faulty settings, with a line for each fault that says what to do. */
import { readFileSync } from "node:fs";
import type { Config } from "#config.ts";
import { isListed } from "#kernel/address.ts";
import { findFaultyHosts } from "#kernel/secrets.ts";
import { hasProcessFleet } from "./fleets.ts";
import { findUselessCi } from "./image-gate.ts";

/** Throws one error with a line for each fault. Must be called before the start changes anything. */
export function refuseSettings(config: Config, roles: readonly string[]): void {
  const faults = [
    ...findWeakSecrets(config),
    ...findFaultyHosts(config.definitions.secrets_dir),
    ...findUnshared(config, roles),
    ...(roles.includes("worker") ? [...findUnsignedWorker(config), ...findUselessCi(config)] : []),
  ];
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

const minLength = 8;
const minDifferent = 4;

type Secrets = {
  api: Pick<Config["api"], "root_key" | "encryption_keys">;
  control: Pick<Config["control"], "ingress_token">;
};

/** Returns a line for each, never with its value. Secrets that are not set are generated, and strong. */
function findWeakSecrets({ api, control }: Secrets): string[] {
  const advice = "set a random one, such as `openssl rand -hex 24` prints, or none";
  return [
    ...faultsOf("control.ingress_token", control.ingress_token, advice),
    ...faultsOf("api.root_key", api.root_key, advice),
    ...api.encryption_keys.flatMap((entry, index) =>
      faultsOf(
        `api.encryption_keys, number ${index + 1}`,
        entry.slice(entry.indexOf(":") + 1),
        "set one that `openssl rand -base64 32` prints",
      ),
    ),
  ];
}

function faultsOf(setting: string, secret: string, advice: string): string[] {
  if (secret === "") return [];
  const isShort = secret.length < minLength;
  if (!isShort && new Set(secret).size >= minDifferent) return [];
  const fault = isShort
    ? `has fewer than ${minLength} characters`
    : `has fewer than ${minDifferent} different characters`;
  return [`${setting}: ${fault} and is refused: ${advice}`];
}

/** A setting that processes of some roles require. `line` says what to set. */
type Requirement = {
  lacks: (config: Config, has: { worker: boolean; control: boolean; api: boolean }) => boolean;
  line: string;
};

const generated = "each process would generate its own: set the same one at all of them";

const requirements: readonly Requirement[] = [
  {
    lacks: ({ database }) => database.url === "",
    line: "database.url: the embedded Postgres is for one machine: set the address of one that all processes reach (DATABASE_URL)",
  },
  {
    lacks: ({ restate }, { worker, control }) => (worker || control) && restate.ingress_url === "",
    line: "restate.ingress_url: the embedded Restate is for one machine: set it and restate.admin_url to the addresses of one that all processes reach",
  },
  {
    lacks: ({ analytics, clickhouse }) => analytics.enabled && clickhouse.url === "",
    line: "clickhouse.url: the embedded analytics store is for one process: set the address of a ClickHouse that all processes reach (CLICKHOUSE_URL), or analytics.enabled to false at all of them",
  },
  {
    lacks: ({ redis }, { api }) => api && redis.url === "",
    line: "redis.url: each process would count rate limits by itself: set the address of a Redis that all of them reach (REDIS_URL)",
  },
  {
    lacks: (config, { worker }) => worker && hasProcessFleet(config),
    line: 'fleet.driver: the sentinels of "process" are processes of one machine: set another driver, for each of [fleets], too (docs/fleets.md)',
  },
  {
    lacks: (config, { worker }) => worker && config.worker.advertised_url === "",
    line: "worker.advertised_url: Restate would call this process alone, at its own address: set the one by which it reaches every worker",
  },
  {
    lacks: ({ monitor }, { worker, control }) => (worker || control) && monitor.base_url === "",
    line: "monitor.base_url: checks would call this process, which need not serve the API: set the address of the API",
  },
  {
    lacks: ({ control, restate }, has) =>
      (has.control || (has.worker && restate.front_host !== "")) && control.ingress_token === "",
    line: `control.ingress_token: ${generated} (INGRESS_TOKEN, or INGRESS_TOKEN_FILE)`,
  },
  {
    lacks: (config, { api }) => api && config.api.root_key === "",
    line: `api.root_key: ${generated} (VEDETTE_ROOT_KEY, or VEDETTE_ROOT_KEY_FILE)`,
  },
  {
    lacks: (config, { worker, api }) =>
      (api || (worker && config.acme.names.length > 0)) && config.api.encryption_keys.length === 0,
    line: `api.encryption_keys: ${generated} (VEDETTE_API__ENCRYPTION_KEYS, or VEDETTE_API__ENCRYPTION_KEYS_FILE)`,
  },
];

/** Returns a line for each setting that is missing where `deployment` is "distributed". */
export function findUnshared(config: Config, roles: readonly string[]): string[] {
  if (config.deployment === "single") return [];
  const has = {
    worker: roles.includes("worker"),
    control: roles.includes("control"),
    api: roles.includes("api"),
  };
  return requirements.flatMap(({ lacks, line }) => (lacks(config, has) ? [line] : []));
}

type Settings = {
  restate: Pick<Config["restate"], "ingress_url" | "identity_keys" | "identity_key_file">;
  worker: Pick<Config["worker"], "host" | "allow_unsigned">;
};

/** Returns a line for each fault: without a key of an external Restate, anyone could run the worker's handlers. */
export function findUnsignedWorker({ restate, worker }: Settings): string[] {
  if (restate.ingress_url === "") return [];
  const { identity_keys: keys, identity_key_file: file } = restate;
  const faults = [...keys.flatMap((key) => faultsOfKey(key)), ...faultsOfFile(file)];
  const isSigned = keys.length > 0 || file !== "";
  if (isSigned || worker.allow_unsigned || isLoopback(worker.host)) return faults;
  return [
    `restate.identity_keys: without a key of Restate's anyone who reaches ${worker.host} can call the ` +
      "worker's handlers: set its public key (restate.identity_keys, or restate.identity_key_file; " +
      "`vedette identity` makes a pair, docs/docker.md has how), or worker.host to a loopback address, " +
      "or worker.allow_unsigned to true if the network itself admits no one else",
  ];
}

/** The public keys of the settings, including that of the file. */
export function readIdentityKeys({ restate }: Pick<Settings, "restate">): string[] {
  const { identity_keys: keys, identity_key_file: file } = restate;
  return file === "" ? keys : [...keys, readFileSync(file, "utf8").trim()];
}

function faultsOfFile(file: string): string[] {
  if (file === "") return [];
  try {
    return faultsOfKey(readFileSync(file, "utf8").trim(), `restate.identity_key_file: ${file}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [`restate.identity_key_file: ${file} cannot be read (${code})`];
  }
}

function faultsOfKey(key: string, where = "restate.identity_keys: one"): string[] {
  if (/^publickeyv1_\w{32,64}$/.test(key)) return [];
  return [
    `${where} is not a public key of Restate (publickeyv1_…, as \`vedette identity\` prints it)`,
  ];
}

function isLoopback(host: string): boolean {
  return host === "localhost" || isListed(["127.0.0.0/8", "::1"], host);
}
