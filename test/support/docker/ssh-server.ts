/** An sshd of our own with one key, and an `ssh` before the system's that knows both. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { onTestFinished, vi } from "vitest";
import { freePort } from "../free-port.ts";
import { hasPrograms } from "../servers/programs.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export function canRunSsh(): boolean {
  return process.getuid?.() === 0 && hasPrograms("/usr/sbin/sshd", "ssh", "ssh-keygen");
}

/** For the test that asks for it. `known`: whether its host's key is one that the client knows. */
export async function startSshServer({ isKnown = true } = {}) {
  const dir = tempDir();
  const at = (name: string) => path.join(dir, name);
  for (const name of ["host", "user"]) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(name)]);
  }
  const port = await freePort();
  writeFileSync(at("authorized"), readFileSync(at("user.pub")), { mode: 0o600 });
  const hostKey = readFileSync(at("host.pub"), "utf8");
  writeFileSync(at("known"), isKnown ? `[127.0.0.1]:${port} ${hostKey}` : "");
  // Of a new directory in /tmp sshd would not believe the mode.
  writeFileSync(
    at("sshd.conf"),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${at("host")}\nAuthorizedKeysFile ${at("authorized")}\nStrictModes no\nPidFile none\n`,
  );
  prependSsh(dir, `-i ${at("user")} -o IdentitiesOnly=yes -o UserKnownHostsFile=${at("known")}`);
  mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const server = spawn("/usr/sbin/sshd", ["-D", "-f", at("sshd.conf")], { stdio: "ignore" });
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill();
    await once(server, "exit");
  };
  onTestFinished(stop);
  const what = "the ssh server to listen";
  await waitFor(() => listens(port), { withinMs: 10_000, what });
  return { url: (socket: string) => `ssh://root@127.0.0.1:${port}${socket}`, stop };
}

function prependSsh(dir: string, options: string): void {
  const bin = path.join(dir, "bin");
  mkdirSync(bin);
  writeFileSync(path.join(bin, "ssh"), `#!/bin/sh\nexec /usr/bin/ssh -F none ${options} "$@"\n`);
  chmodSync(path.join(bin, "ssh"), 0o755);
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
