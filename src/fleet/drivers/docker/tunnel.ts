/** A socket of another machine, forwarded by the ssh of this one: keys, known hosts and jumps are its own settings. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { cleanWords } from "#kernel/log-text.ts";
import { environmentOfTools } from "#kernel/run-program.ts";

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
