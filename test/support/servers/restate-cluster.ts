/** Three Restate servers of one cluster, which keeps all that it knows twice, behind one ingress and one admin address. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { restateBinary } from "#embedded/restate.ts";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { startBalancer } from "./balancer.ts";

const names = ["one", "two", "three"] as const;

export type NodeName = (typeof names)[number];

type Node = {
  name: NodeName;
  fabric: string;
  ingress: number;
  admin: number;
  child?: ChildProcess;
};

export async function startRestateCluster() {
  const dir = makeTempDir();
  const nodes: Node[] = [];
  for (const name of names) {
    const fabric = `127.0.0.1:${await freePort()}`;
    nodes.push({ name, fabric, ingress: await freePort(), admin: await freePort() });
  }
  const ingress = await startBalancer(nodes.map((node) => node.ingress));
  const admin = await startBalancer(nodes.map((node) => node.admin));

  const launch = (node: Node) => {
    node.child = spawn(restateBinary(), ["--no-logo"], {
      env: environmentOf(node, path.join(dir.path, node.name), nodes),
      stdio: "ignore",
    });
  };

  const untilHealthy = ({ name, ingress: port }: Node) =>
    waitFor(async () => (await fetch(`http://127.0.0.1:${port}/restate/health`)).ok, {
      withinMs: 30_000,
      what: `Restate's node ${name} to be healthy`,
    });

  const kill = async (node: Node) => {
    const { child } = node;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };

  /** A test run that ends in the middle leaves nothing behind. */
  const killAll = () => {
    for (const { child } of nodes) child?.kill("SIGKILL");
  };
  process.once("exit", killAll);
  nodes.forEach(launch);
  await Promise.all(nodes.map(untilHealthy));

  const nodeOf = (name: NodeName) => nodes.find((node) => node.name === name) as Node;
  return {
    names,
    ingressUrl: ingress.url,
    adminUrl: admin.url,
    /** Kills it as a power failure would, and starts it again on what it had. */
    killAndRestart: async (name: NodeName) => {
      await kill(nodeOf(name));
      launch(nodeOf(name));
      await untilHealthy(nodeOf(name));
    },
    stop: async () => {
      await Promise.all(nodes.map(kill));
      process.removeListener("exit", killAll);
      await Promise.all([ingress.stop(), admin.stop()]);
      dir.remove();
    },
  };
}

function environmentOf(node: Node, directory: string, nodes: readonly Node[]) {
  return {
    RESTATE_CLUSTER_NAME: "test",
    RESTATE_NODE_NAME: node.name,
    RESTATE_AUTO_PROVISION: String(node === nodes[0]),
    RESTATE_BASE_DIR: directory,
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_ADDRESS: node.fabric,
    RESTATE_ADVERTISED_ADDRESS: `http://${node.fabric}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${node.ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${node.admin}`,
    RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(
      nodes.map(({ fabric }) => `http://${fabric}`),
    ),
    RESTATE_DEFAULT_REPLICATION: "2",
    RESTATE_DEFAULT_NUM_PARTITIONS: "2",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "64 MiB",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "warn",
  };
}
