/** Connections to an engine: a socket here, TCP with or without TLS, or another machine's socket by this one's ssh. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { Agent, type Dispatcher } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { environmentOfTools } from "#kernel/process.ts";

/** `url`: `unix://`, `tcp://`, `https://` or `ssh://`. The others are files; TLS is used when one of them is given. */
export type HostAddress = { url: string; ca: string; cert: string; key: string };

export type Connect = {
  open: (signal: AbortSignal) => Promise<{ origin: string; dispatcher: Dispatcher }>;
  /** The next call connects anew. */
  reset: () => void;
  stop: () => Promise<void>;
};

/** The whole of a call has a limit of its own: a pull may be silent for longer than a usual answer. */
const patient = { headersTimeout: 0, bodyTimeout: 0, connections: 64 };
const connectTimeoutMs = 5_000;

export function createConnect(address: HostAddress): Connect {
  const { protocol } = new URL(address.url);
  if (protocol === "unix:") return connectBy(() => socketAgent(address.url.slice(7)), localOrigin);
  if (protocol === "ssh:") return connectByTunnel(address.url);
  const isTls = protocol === "https:" || [address.ca, address.cert, address.key].some(Boolean);
  const { host } = new URL(address.url.replace(/^\w+:/, "http:"));
  return connectBy(() => tcpAgent(address), `${isTls ? "https" : "http"}://${host}`);
}

/** An engine's socket has no host. */
const localOrigin = "http://docker";

function connectBy(create: () => Agent, origin: string): Connect {
  let agent: Agent | undefined;
  return {
    open: async () => {
      agent ??= create();
      return { origin, dispatcher: agent };
    },
    reset: () => {
      // Other calls may still be under way over it.
      agent?.close().catch(() => {});
      agent = undefined;
    },
    stop: async () => agent?.destroy(),
  };
}

function connectByTunnel(url: string): Connect {
  const tunnel = createTunnel(url);
  const direct = connectBy(() => socketAgent(tunnel.socket), localOrigin);
  return {
    open: async (signal) => {
      await tunnel.ready(signal);
      return direct.open(signal);
    },
    reset: direct.reset,
    stop: async () => {
      await direct.stop();
      await tunnel.stop();
    },
  };
}

function socketAgent(socketPath: string): Agent {
  return new Agent({ ...patient, connect: { socketPath, timeout: connectTimeoutMs } });
}

function tcpAgent({ ca, cert, key }: HostAddress): Agent {
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== "");
  const read = Object.fromEntries(files.map(([name, file]) => [name, readFileSync(file)]));
  return new Agent({ ...patient, connect: { ...read, timeout: connectTimeoutMs } });
}

const hints: Record<string, string> = {
  ENOENT: "there is no such socket or file; does Docker run there?",
  EACCES: "no permission for its socket; is the user in the group docker?",
  ECONNREFUSED: "nothing listens there; does Docker run?",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is of another authority than ca",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is of another authority than ca",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is of another authority than ca",
  // With TLS 1.3 a server refuses a client's certificate only once the connection is made.
  UND_ERR_SOCKET: "the connection was closed; does it want a client certificate (cert, key)?",
};

export function describeFailure(error: Error & { code?: unknown }): string {
  if (error.name === "TimeoutError") return "no answer in time";
  if (error.name === "AbortError") return "the call was ended";
  const code = String(error.code ?? "");
  const hint = hints[code];
  return hint === undefined ? code || error.message : `${code} (${hint})`;
}

const defaultSocket = "/var/run/docker.sock";
const pollMs = 50;
const endWithinMs = 2_000;

/** Ends ssh when our end of the pipe closes, however we end. Of a background command a shell takes the input away. */
const untilWeEnd = `exec 3<&0
ssh "$@" 3<&- & ssh=$!
(cat <&3 >/dev/null; kill $ssh 2>/dev/null) & watch=$!
wait $ssh; code=$?
kill $watch 2>/dev/null
exit $code`;

/** `url`: `ssh://[user@]host[:port][/path of the socket]`. */
export function createTunnel(url: string) {
  const directory = mkdtempSync(path.join(tmpdir(), "vedette-ssh-"));
  const socket = path.join(directory, "docker.sock");
  let child: ChildProcess | undefined;
  let words = "";

  const start = (): ChildProcess => {
    words = "";
    rmSync(socket, { force: true });
    const args = ["-c", untilWeEnd, "sh", ...sshArguments(url, socket)];
    const env = environmentOfTools(process.env);
    const started = spawn("sh", args, { env, stdio: ["pipe", "ignore", "pipe"] });
    started.stderr?.on("data", (chunk: Buffer) => {
      words = `${words}${chunk}`.slice(-500);
    });
    started.on("error", (error) => {
      words = error.message;
    });
    return started;
  };

  const hasEnded = (one: ChildProcess) =>
    one.exitCode !== null || one.signalCode !== null || one.pid === undefined;

  return {
    socket,
    /** Resolves once the socket is there. Throws `UnreachableError` with what ssh says. */
    async ready(signal: AbortSignal): Promise<void> {
      if (child === undefined || hasEnded(child)) child = start();
      while (!existsSync(socket)) {
        await delay(pollMs, undefined, { signal });
        if (hasEnded(child)) throw new UnreachableError(`unreachable: ${describe(url, words)}`);
      }
    },
    async stop(): Promise<void> {
      if (child !== undefined && !hasEnded(child)) {
        const ended = once(child, "exit");
        child.stdin?.end();
        await Promise.race([ended, delay(endWithinMs, undefined, { ref: false })]);
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function describe(url: string, words: string): string {
  const said = cleanWords(words.trim().split("\n").at(-1) ?? "", 200);
  return `ssh to ${new URL(url).hostname} has ended${said === "" ? "" : `: ${said}`}`;
}

/** It never asks: a password or an unknown host ends it. */
export function sshArguments(url: string, socket: string): string[] {
  const { username, hostname, port, pathname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const remote = pathname === "" || pathname === "/" ? defaultSocket : pathname;
  const options = [
    "BatchMode=yes",
    "ExitOnForwardFailure=yes",
    "StreamLocalBindUnlink=yes",
    "ServerAliveInterval=15",
    "ConnectTimeout=10",
  ];
  return [
    "-N",
    "-T",
    "-L",
    `${socket}:${remote}`,
    ...options.flatMap((option) => ["-o", option]),
    ...(port === "" ? [] : ["-p", port]),
    "--",
    username === "" ? host : `${decodeURIComponent(username)}@${host}`,
  ];
}
