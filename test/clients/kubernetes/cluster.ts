/** A fleet at an API server with TLS, without which no published client sends its token; and kubectl for it. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createSelfSigned } from "../../support/http/self-signed.ts";
import {
  type ApiServer,
  type ApiServerSettings,
  adminToken,
} from "../../support/kubernetes/api-server.ts";
import {
  createTestDriver,
  kubeImage,
  namespace,
  startKubernetesFleet,
} from "../../support/kubernetes/fleet.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const serverName = "kubernetes.example.test";

export type Cluster = {
  server: ApiServer;
  /** The path of a file. */
  kubeconfig: string;
};

/** Of Deployments with these names, which run v1. Ends with the test that asks for it. */
export async function startCluster(
  names: readonly string[] = ["gw"],
  settings: ApiServerSettings = {},
): Promise<Cluster> {
  const tls = await createSelfSigned([serverName], new Date(Date.now() + 3_600_000));
  const server = await startKubernetesFleet(names, { ...settings, tls });
  const kubeconfig = path.join(tempDir(), "kubeconfig");
  const cluster = {
    server: server.url,
    "tls-server-name": serverName,
    "certificate-authority-data": Buffer.from(tls.cert).toString("base64"),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
    clusters: [{ name: "test", cluster }],
    users: [{ name: "test", user: { token: adminToken } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return { server, kubeconfig };
}

/** Our driver, with the same file as the other clients. */
export type Driver = ReturnType<typeof createTestDriver>;
type Order = Parameters<Driver["apply"]>[0];

export function createDriver(
  { kubeconfig }: Cluster,
  kinds: NonNullable<Parameters<typeof createTestDriver>[1]>["kinds"] = [],
): Driver {
  return createTestDriver("", { kinds, environment: { KUBECONFIG: kubeconfig } });
}

/** For the Deployment gw, or a member of the set gw; its id is the tag. */
export function orderOf(tag: string, member?: string): Order {
  const sentinelId = [namespace, "gw", ...(member === undefined ? [] : [member])].join("/");
  return { sentinelId, image: kubeImage(tag), deployId: tag };
}

export function untilSettled(driver: Driver, order: Order): ReturnType<Driver["observe"]> {
  const look = async () => {
    const seen = await driver.observe(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(look, { withinMs: 20_000, what: `${order.deployId} to settle` });
}

export type Ended = { code: number; stdout: string; stderr: string };

/** Of one call; it is killed then, which the code -1 tells. */
const callLimitMs = 30_000;

/** kubectl with a home of its own, where it keeps what it has found out about a server. */
export function createKubectl(program: string, kubeconfig: string) {
  const home = tempDir();
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig };

  return (args: readonly string[], input = ""): Promise<Ended> =>
    new Promise((resolve) => {
      const limits = { timeout: callLimitMs, killSignal: "SIGKILL" as const };
      const child = execFile(
        program,
        args,
        { env, cwd: home, ...limits },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : error.code;
          resolve({ code: typeof code === "number" ? code : -1, stdout, stderr });
        },
      );
      child.stdin?.end(input);
    });
}
