/** The Restate server from npm, for machines without another one. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { writeFileAtomically } from "#kernel/files.ts";
import type { Log } from "#kernel/log.ts";
import { requestRestate, socketAddress } from "#kernel/restate.ts";
import {
  endLeftover,
  type SupervisedServer,
  startOnFreePorts,
  superviseServer,
  takePort,
} from "./supervised.ts";

export type RestateSettings = {
  dataDir: string;
  /** Port on loopback; 0 takes a free port. Both absent: unix sockets, which only this user can open. */
  ingressPort?: number;
  adminPort?: number;
  /** PEM file with the private key that signs every request to the worker. */
  identityKeyFile?: string;
  /** The only certificate (PEM) that it trusts, the worker's. */
  workerCertificate?: string | undefined;
  /** Further `RESTATE_…` variables; they override `restate.toml`. */
  environment?: Record<string, string>;
  log: Log;
  /** Aborts a start: it then throws and leaves no process. */
  signal?: AbortSignal | undefined;
};

export type RestateServer = SupervisedServer & { ingressUrl: string; adminUrl: string };

const ending = { stopSignal: "SIGTERM", stopWithinMs: 10_000 } as const;

/** Starts it, in `<dataDir>/restate`, and keeps it running; ends one left behind by a kill. Throws why it cannot. */
export async function startRestate(settings: RestateSettings): Promise<RestateServer> {
  const baseDir = makeBaseDir(settings.dataDir);
  const pidFile = path.resolve(settings.dataDir, "restate.pid.json");
  await endLeftover({ pidFile, ...ending });
  rmSync(temporaryDir(baseDir), { recursive: true, force: true });
  mkdirSync(temporaryDir(baseDir));
  writeFileAtomically(certificateFile(baseDir), settings.workerCertificate ?? "");
  return startOnFreePorts(async () => {
    const addresses = await chooseAddresses(baseDir, settings);
    const { ingressUrl, adminUrl } = addresses;
    const server = await superviseServer({
      ...ending,
      name: "restate",
      pidFile,
      launch: () => launch(baseDir, serverEnvironment(baseDir, addresses, settings)),
      isReady: () => isReady(adminUrl),
      // It takes seconds on an idle machine.
      readyWithinMs: 300_000,
      log: settings.log,
      signal: settings.signal,
    });
    return { ...server, ingressUrl, adminUrl };
  });
}

/** Private even if the data directory is not: a process that can open the sockets needs no token. */
function makeBaseDir(dataDir: string): string {
  const baseDir = path.resolve(dataDir, "restate");
  mkdirSync(baseDir, { recursive: true, mode: 0o700 });
  chmodSync(baseDir, 0o700);
  return realpathSync(baseDir);
}

/** `environment`: the variables that make the server listen there. */
type Addresses = { ingressUrl: string; adminUrl: string; environment: Record<string, string> };

async function chooseAddresses(baseDir: string, settings: RestateSettings): Promise<Addresses> {
  const { ingressPort, adminPort } = settings;
  if (ingressPort === undefined || adminPort === undefined) return socketAddresses(baseDir);
  const ingress = await takePort(ingressPort, "restate.ingress_port");
  const admin = await takePort(adminPort, "restate.admin_port");
  // This port is for the traffic between servers of a cluster: required, but unused by a single server.
  const fabric = await takePort(0, "");
  return {
    ingressUrl: `http://127.0.0.1:${ingress}`,
    adminUrl: `http://127.0.0.1:${admin}`,
    environment: {
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_PORT: String(fabric),
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  };
}

/** The server creates its sockets in its data folder, which has the name of its node. */
function socketAddresses(baseDir: string): Addresses {
  const own = path.join(baseDir, "vedette");
  const folder = socketFolder(own, path.join(baseDir, "socket-folder"));
  return {
    ingressUrl: socketAddress(path.join(folder, "ingress.sock")),
    adminUrl: socketAddress(path.join(folder, "admin.sock")),
    environment: {
      RESTATE_LISTEN_MODE: "unix",
      // The server connects to itself at this address; the default is the whole path, which is too long.
      ...(folder !== own && { RESTATE_ADVERTISED_ADDRESS: `unix:${folder}/fabric.sock` }),
    },
  };
}

/** Runs in its own directory, so that it can create its sockets by short relative names. */
function launch(baseDir: string, environment: NodeJS.ProcessEnv): ChildProcess {
  return spawn(restateBinary(), ["--no-logo", "--config-file", configFile], {
    cwd: baseDir,
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
}

function temporaryDir(baseDir: string): string {
  return path.join(baseDir, "tmp");
}

function certificateFile(baseDir: string): string {
  return path.join(baseDir, "worker.pem");
}

/** Restate doesn't inherit our environment, which has secrets and maybe RESTATE_… variables that it obeys. */
function serverEnvironment(
  baseDir: string,
  addresses: Addresses,
  settings: RestateSettings,
): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    RESTATE_BASE_DIR: baseDir,
    // A killed server leaves temporary files; the next start removes this directory.
    TMPDIR: temporaryDir(baseDir),
    ...addresses.environment,
    ...(settings.identityKeyFile !== undefined && {
      RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: settings.identityKeyFile,
    }),
    ...(settings.workerCertificate && { SSL_CERT_FILE: certificateFile(baseDir) }),
    ...settings.environment,
  };
}

/** The platform's own binary: npm's wrapper around it would be one more process to supervise. */
export function restateBinary(): string {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve(
      "@restatedev/restate-server/package.json",
    );
    return createRequire(wrapper).resolve(`${platform}/bin/restate-server`);
  } catch (error) {
    throw new Error(
      `there is no embedded Restate here: ${platform} is not installed; install with optional ` +
        "packages, or set restate.ingress_url and restate.admin_url",
      { cause: error },
    );
  }
}

const configFile = fileURLToPath(new URL("../../restate.toml", import.meta.url));

/** Ready means that the partitions answer; the health endpoint answers earlier than that. */
async function isReady(adminUrl: string): Promise<boolean> {
  try {
    const answer = await requestRestate(`${adminUrl}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "SELECT count(1) FROM sys_invocation" }),
      headersTimeout: 5_000,
      bodyTimeout: 5_000,
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

/** A socket's path has at most 104 bytes on macOS and 108 on Linux, including the final zero byte. */
const longestPath = 103;
const longestName = "/ingress.sock".length;

/**
 * The path by which to open the sockets in `folder`: the folder itself or, when that is too long, a symbolic
 * link to it in a temporary directory that only this user can enter. `note` is a file with the path of the
 * link, so that a start after a kill uses the same one.
 */
export function socketFolder(folder: string, note: string): string {
  if (fits(folder)) return folder;
  const known = readNote(note);
  if (known !== undefined && isOurs(known, folder)) return known;
  const link = path.join(mkdtempSync(path.join(shortRoot(), "vedette-")), "s");
  symlinkSync(folder, link);
  writeFileAtomically(note, link);
  return link;
}

function fits(folder: string): boolean {
  return Buffer.byteLength(folder) + longestName <= longestPath;
}

/** mkdtemp's directories have mode 0700. A long TMPDIR is of no use, so it falls back to /tmp. */
function shortRoot(): string {
  const root = realpathSync(os.tmpdir());
  return fits(path.join(root, "vedette-XXXXXX", "s")) ? root : "/tmp";
}

function readNote(note: string): string | undefined {
  try {
    return readFileSync(note, "utf8");
  } catch {
    return undefined;
  }
}

/** All users can write to the temporary directory, so the noted path may no longer be our link. */
function isOurs(link: string, folder: string): boolean {
  try {
    const parent = lstatSync(path.dirname(link));
    const isPrivate = parent.isDirectory() && (parent.mode & 0o077) === 0;
    return isPrivate && parent.uid === process.getuid?.() && readlinkSync(link) === folder;
  } catch {
    return false;
  }
}
