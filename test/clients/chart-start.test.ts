/** What the chart renders, started: each role with its own variables, settings and secrets, until it is ready; and a rollout. */
import { execFile } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { freePort } from "../support/free-port.ts";
import { imageAt, kubeImage } from "../support/kubernetes/fleet.ts";
import { type CommandEnd, runVedette } from "../support/program/command.ts";
import { createTestDatabase } from "../support/run/shared-postgres.ts";
import { startTestRestate } from "../support/servers/servers.ts";
import { makeTempDir, tempDir } from "../support/temp-dir.ts";
import { find, type Manifest, ofKind, plainFile, render, setFile } from "./chart/helm.ts";
import { podOf } from "./chart/pod.ts";
import { type Running, type Secrets, startPod } from "./chart/run-pod.ts";
import { startCluster } from "./kubernetes/cluster.ts";
import { canRunKubectl, obtainHelm } from "./kubernetes/obtain-kubectl.ts";

let helm: string;
/** What Node compiles of the program, for the pods' user: they start in half of the time. */
const compiled = makeTempDir();

const roles = ["worker", "control", "api"] as const;
type Role = (typeof roles)[number];

const ingressToken = "an-ingress-token-of-the-test";

/** The servers that a user brings, and the values and secrets that lead there. */
async function bringServers() {
  const keys = tempDir();
  const { stdout } = await runVedette(["identity", "--out", keys]);
  const database = await createTestDatabase({ isEmpty: true });
  onTestFinished(database.stop);
  const environment = {
    RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: path.join(keys, "private.pem"),
  };
  const restate = await startTestRestate({ services: [], environment });
  onTestFinished(restate.stop);
  const cluster = await startCluster(["gw-1", "gw-2", "gw-3"]);
  return { database, restate, cluster, publicKey: stdout.trim(), keys };
}

type Servers = Awaited<ReturnType<typeof bringServers>>;

/** What is of this machine in place of a cluster: addresses, and a kubeconfig in place of the pod's own access. */
function valuesHere(file: string, { restate, publicKey }: Servers, ports: Record<string, number>) {
  const { extraVolumes = [], extraVolumeMounts = [] } =
    parse(readFileSync(file, "utf8")).worker ?? {};
  return {
    config: {
      restate: {
        ingress_url: restate.ingressUrl,
        admin_url: restate.adminUrl,
        identity_keys: [publicKey],
      },
      fleet: { kubernetes: { namespaces: ["edge"], stable_seconds: 1 } },
      rollout: { require_image_in_registry: false, soak_seconds: 0, approvals: null },
    },
    worker: {
      advertisedUrl: `http://127.0.0.1:${ports["worker"]}`,
      extraEnv: [{ name: "KUBECONFIG", value: "/etc/kube/kubeconfig" }],
      // A list replaces the one before it.
      extraVolumes: [
        ...extraVolumes,
        {
          name: "kubeconfig",
          secret: { secretName: "kubeconfig", items: [{ key: "kubeconfig", path: "kubeconfig" }] },
        },
      ],
      extraVolumeMounts: [
        ...extraVolumeMounts,
        { name: "kubeconfig", mountPath: "/etc/kube", readOnly: true },
      ],
    },
    migration: { enabled: true },
  };
}

/** Every key of every Secret that the pods mount, with the address of our servers or something that fits. */
function secretsOf(objects: readonly Manifest[], { database, cluster, keys }: Servers): Secrets {
  const values: Record<string, string> = {
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: database.url,
    CLICKHOUSE_URL: "http://127.0.0.1:1",
    REDIS_URL: "redis://127.0.0.1:1",
    INGRESS_TOKEN: `${ingressToken}\n`,
    VEDETTE_ROOT_KEY: "a-root-key-of-the-test",
    VEDETTE_API__ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
    VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: "http://127.0.0.1:1/hook",
    REGISTRY_AUTH_REGISTRY_EXAMPLE_COM: "user:password",
  };
  const secrets: Secrets = {
    kubeconfig: { kubeconfig: readFileSync(cluster.kubeconfig, "utf8") },
    "restate-identity": { "public.key": readFileSync(path.join(keys, "public.key"), "utf8") },
  };
  for (const workload of [...ofKind(objects, "Deployment"), ...ofKind(objects, "Job")]) {
    const sources = podOf(workload).volumes.flatMap(({ projected }) => projected?.sources ?? []);
    for (const { secret } of sources) {
      for (const { key, path: variable } of secret.items) {
        secrets[secret.name] = { ...secrets[secret.name], [key]: values[variable] ?? "a-secret" };
      }
    }
  }
  return secrets;
}

/** Installs: the migration, then each role until it is ready. */
async function install(file: string) {
  const servers = await bringServers();
  const ports = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await freePort()] as const)),
  );
  const objects = await render(helm, { files: [file], over: valuesHere(file, servers, ports) });
  const secrets = secretsOf(objects, servers);
  const start = (workload: Manifest, environment: Record<string, string>) =>
    startPod(podOf(workload), {
      directory: tempDir(),
      objects,
      secrets,
      environment: { NODE_COMPILE_CACHE: compiled.path, ...environment },
    });
  const migration = await start(find(objects, "Job", "vedette-migrate"), {});
  const migrated = { code: await migration.ended(), said: migration.output() };
  const running = await Promise.all(
    roles.map(async (role): Promise<[Role, Running]> => {
      const pod = await start(find(objects, "Deployment", `vedette-${role}`), {
        [`VEDETTE_${role.toUpperCase()}__PORT`]: String(ports[role]),
        VEDETTE_METRICS__PORT: String(await freePort()),
      });
      onTestFinished(async () => void (await pod.stop()));
      return [role, pod];
    }),
  );
  await Promise.all(running.map(([, pod]) => pod.untilReady()));
  const command = (...args: string[]): Promise<CommandEnd> =>
    runVedette(args, {
      VEDETTE_CONTROL_URL: `http://127.0.0.1:${ports["control"]}`,
      INGRESS_TOKEN: ingressToken,
    });
  return { ...servers, ports, migrated, pods: Object.fromEntries(running), command };
}

describe.skipIf(!canRunKubectl())("the program as the chart starts it", () => {
  beforeAll(async () => {
    helm = await obtainHelm();
    chmodSync(compiled.path, 0o777);
    // As the Dockerfile does: the pods' user may not write beside the program.
    await promisify(execFile)(process.execPath, ["src/console/build.ts"], { timeout: 120_000 });
  });

  afterAll(() => compiled.remove());

  it.each([
    ["the plain manifests", plainFile],
    ["production", setFile("production")],
  ])("migrates, is ready in every role, and rolls an image out: %s", async (_name, file) => {
    const { cluster, command, migrated, ports, pods } = await install(file);
    const liveness = await fetch(`http://127.0.0.1:${ports["api"]}/v2/liveness`);
    const rollout = await command("rollout", "start", kubeImage("v2"), "--wait");
    const codes = await Promise.all(roles.map((role) => pods[role]?.stop()));

    expect(migrated.code, migrated.said).toBe(0);
    expect(migrated.said).toContain('"msg":"database migrated"');
    expect(liveness.status).toBe(200);
    expect(rollout.code, rollout.stderr).toBe(0);
    const images = ["gw-1", "gw-2", "gw-3"].map((name) => imageAt(cluster.server, name));
    expect(new Set(images)).toEqual(new Set([kubeImage("v2")]));
    expect(codes).toEqual([0, 0, 0]);
    expect(cluster.server.faults).toEqual([]);
  });

  it("is ready in every role with the least that it needs", async () => {
    const { pods, command } = await install(setFile("smallest"));

    const status = await command("rollout", "status");

    expect(status.stderr).toBe("");
    expect(Object.keys(pods)).toEqual([...roles]);
  });
});
