/** An engine on another machine: by TLS, and by ssh. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DockerHostSettings } from "#fleet/drivers/docker/driver.ts";
import { canRunEngines, startDockerEngine } from "../../../../support/docker/engine.ts";
import { buildDockerHost, createTestDriver } from "../../../../support/docker/fleet.ts";
import { canRunSsh, startSshServer } from "../../../../support/docker/ssh-server.ts";
import { freePort } from "../../../../support/free-port.ts";
import { createSelfSigned } from "../../../../support/http/self-signed.ts";
import { tempDir } from "../../../../support/temp-dir.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const startDriver = (host: Partial<DockerHostSettings> & { url: string }) =>
  createTestDriver({ hosts: [buildDockerHost(host)] });

async function writePair(): Promise<{ cert: string; key: string }> {
  const dir = tempDir();
  const pair = await createSelfSigned(["localhost"], new Date(Date.now() + 86_400_000));
  const files = { cert: path.join(dir, "cert.pem"), key: path.join(dir, "key.pem") };
  for (const name of ["cert", "key"] as const) writeFileSync(files[name], pair[name]);
  return files;
}

/** Its clients have to have its own certificate. */
async function startTlsEngine() {
  const { cert, key } = await writePair();
  const port = await freePort();
  const files = [`--tlscacert=${cert}`, `--tlscert=${cert}`, `--tlskey=${key}`];
  const listen = ["-H", `tcp://127.0.0.1:${port}`, "--tlsverify", ...files];
  const engine = await startDockerEngine({ listen });
  onTestFinished(engine.stop);
  return { url: `tcp://localhost:${port}`, cert, key };
}

describe.skipIf(!canRunEngines())("an engine by TLS", () => {
  it("is asked with a certificate, and the reason is told when that is wrong", async () => {
    const { url, cert, key } = await startTlsEngine();
    const other = await writePair();

    expect(await startDriver({ url, ca: cert, cert, key }).list()).toEqual([]);
    await expect(startDriver({ url, ca: cert }).list()).rejects.toThrow(
      /^unreachable: the engine of one: .*client certificate/,
    );
    await expect(startDriver({ url, ca: other.cert, cert, key }).list()).rejects.toThrow(
      /another authority than ca/,
    );
    await expect(startDriver({ url: url.replace("tcp", "http") }).list()).rejects.toThrow(
      /^unreachable: /,
    );
    await expect(startDriver({ url, ca: "/nowhere/ca.pem" }).list()).rejects.toThrow(
      /^unreachable: the engine of one: ENOENT/,
    );
  });
});

describe.skipIf(!canRunEngines() || !canRunSsh())("an engine by ssh", () => {
  it("is asked over a tunnel, which comes back and ends with the driver", async () => {
    const engine = await startDockerEngine();
    onTestFinished(engine.stop);
    const { url } = await startSshServer();
    const driver = startDriver({ url: url(engine.socket) });

    expect(await driver.list()).toEqual([]);
    const [tunnel] = tunnels(engine.socket);
    process.kill(tunnel ?? 0, "SIGKILL");
    await waitFor(() => tunnels(engine.socket).length === 0, { withinMs: 10_000, what: "its end" });
    const what = "the tunnel to be back";
    await waitFor(() => driver.list().then(isEmpty, () => false), { withinMs: 20_000, what });
    await driver.stop();

    expect(tunnels(engine.socket)).toEqual([]);
  });

  it("is not asked when ssh does not know the host, and says so", async () => {
    const { url } = await startSshServer({ isKnown: false });

    await expect(startDriver({ url: url("/none.sock") }).list()).rejects.toThrow(
      /^unreachable: ssh to 127\.0\.0\.1 has ended: Host key verification failed/,
    );
  });

  it("is not asked when nothing listens at the other end, and says so", async () => {
    const { url } = await startSshServer();

    await expect(startDriver({ url: url("/none.sock") }).list()).rejects.toThrow(/^unreachable: /);
  });
});

const isEmpty = (list: readonly unknown[]) => list.length === 0;

/** Processes of ssh that forward this socket. */
function tunnels(socket: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return command[0]?.endsWith("/ssh") && command.some((part) => part.endsWith(`:${socket}`));
    } catch {
      return false;
    }
  });
}
