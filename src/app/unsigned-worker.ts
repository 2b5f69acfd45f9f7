/** Checks that the worker can authenticate the calls of its Restate. */
import { readFileSync } from "node:fs";
import type { Config } from "#config.ts";
import { isListed } from "#kernel/address.ts";

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
