/**
 * Runs the container of a rendered pod as a process of this machine: with its variables, and with a folder in place of
 * each of its volumes, in the modes that a kubelet gives them. As root it runs as the pod's user, to whom nothing else belongs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { waitFor } from "../../support/wait-for.ts";
import type { Manifest } from "./helm.ts";
import { type Container, type Mount, type Pod, portOf, type Volume } from "./pod.ts";

/** By name and key. */
export type Secrets = Record<string, Record<string, string>>;

export type Machine = {
  /** A directory of this test. */
  directory: string;
  objects: readonly Manifest[];
  secrets: Secrets;
  /** Of this machine, over the pod's: its ports. */
  environment: Record<string, string>;
};

export type Running = Awaited<ReturnType<typeof startPod>>;

/** `args` of the image's ENTRYPOINT, `vedette`. */
const entry = path.resolve("src/main.ts");
const readyWithinMs = 60_000;
const endWithinMs = 60_000;
/** Of what it says. */
const mostCharacters = 200_000;

export async function startPod(pod: Pod, machine: Machine) {
  const { container } = pod;
  const folders = mountAll(pod, machine);
  const environment = {
    PATH: process.env["PATH"],
    ...imageEnvironment(),
    ...Object.fromEntries(
      (container.env ?? []).map(({ name, value }) => [name, located(value, folders)]),
    ),
    ...machine.environment,
  };
  const child = spawn(process.execPath, [entry, ...container.args], {
    cwd: path.resolve("."),
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    ...userOf(pod),
  });
  const killNow = () => child.kill("SIGKILL");
  process.once("exit", killNow);
  let output = "";
  const keep = (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-mostCharacters);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const closed = once(child, "close").finally(() => process.removeListener("exit", killNow));
  return {
    output: () => output,
    ended: async () => {
      await waitFor(() => hasEnded(child), { withinMs: endWithinMs, what: "the process to end" });
      await closed;
      return child.exitCode;
    },
    /** Until the readiness probe is answered 200; at once with what it said when it has ended. */
    untilReady: () => untilReady(container, { child, environment, output: () => output }),
    stop: async () => {
      if (!hasEnded(child)) child.kill("SIGTERM");
      await waitFor(() => hasEnded(child), { withinMs: endWithinMs, what: "an orderly end" }).catch(
        (error) => {
          killNow();
          throw new Error(`no end after SIGTERM: ${output.slice(-4_000)}`, { cause: error });
        },
      );
      await closed;
      return child.exitCode;
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function untilReady(
  { readinessProbe, ...container }: Container,
  of: {
    child: ChildProcess;
    environment: Record<string, string | undefined>;
    output: () => string;
  },
): Promise<void> {
  const { path: at, port: name } = readinessProbe.httpGet;
  const port =
    of.environment["VEDETTE_METRICS__PORT"] ?? portOf({ ...container, readinessProbe }, name);
  const ask = async () => {
    if (hasEnded(of.child)) return "ended";
    const answer = await fetch(`http://127.0.0.1:${port}${at}`, {
      signal: AbortSignal.timeout(3_000),
    });
    await answer.arrayBuffer();
    return answer.status === 200 && "ready";
  };
  const result = await waitFor(ask, { withinMs: readyWithinMs, what: "the readiness probe" }).catch(
    (error) => {
      throw new Error(`never ready: ${of.output().slice(-4_000)}`, { cause: error });
    },
  );
  if (result === "ended") throw new Error(`it ended: ${of.output().slice(-4_000)}`);
}

/** What the Dockerfile sets. */
function imageEnvironment(): Record<string, string> {
  const [, block = ""] = /\nENV ((?:.*\\\n)*.*)\n/.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  const pairs = block.replaceAll("\\\n", " ").trim().split(/\s+/);
  return Object.fromEntries(pairs.map((pair) => pair.split("=") as [string, string]));
}

function userOf({ securityContext }: Pod): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const { runAsUser: uid, fsGroup: gid } = securityContext;
  if (uid === undefined || gid === undefined) throw new Error("the pod would run as root");
  return { uid, gid };
}

/** Where each path of the container is on this machine. */
type Folders = ReadonlyMap<string, string>;

/** A text of the container with paths of this machine: those that begin a word or a quoted text. */
function located(text: string, folders: Folders): string {
  const paths = [...folders.keys()].join("|");
  const path = new RegExp(`(?<=^|["'\\s])(?:${paths})(?=$|[/"'\\s])`, "gm");
  return text.replaceAll(path, (found) => folders.get(found) ?? found);
}

function mountAll(pod: Pod, machine: Machine): Folders {
  chmodSync(machine.directory, 0o755);
  const folders = new Map(
    pod.container.volumeMounts.map(({ name, mountPath }) => [
      mountPath,
      path.join(machine.directory, name),
    ]),
  );
  for (const mount of pod.container.volumeMounts) {
    const volume = pod.volumes.find(({ name }) => name === mount.name);
    if (volume === undefined) throw new Error(`no volume ${mount.name}`);
    fill(volume, mount, { machine, folders, group: pod.securityContext.fsGroup });
  }
  return folders;
}

type Filling = { machine: Machine; folders: Folders; group: number | undefined };

function fill(volume: Volume, mount: Mount, { machine, folders, group }: Filling): void {
  const folder = path.join(machine.directory, volume.name);
  mkdirSync(folder, { recursive: true });
  const files = filesOf(volume, machine);
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    writeFileSync(file, located(text, folders));
    setOwner(file, group, volume.projected?.defaultMode ?? 0o644);
  }
  const isWritten = volume.emptyDir !== undefined || volume.ephemeral !== undefined;
  if (isWritten === (mount.readOnly ?? false)) throw new Error(`${volume.name}: readOnly is wrong`);
  setOwner(folder, group, isWritten ? 0o2777 : 0o755);
}

function setOwner(file: string, group: number | undefined, mode: number): void {
  if (process.getuid?.() === 0 && group !== undefined) chownSync(file, 0, group);
  // Of somebody else than root the files stay their own: group and mode would lock them out.
  chmodSync(file, process.getuid?.() === 0 ? mode : mode | 0o600);
}

function filesOf(volume: Volume, { objects, secrets }: Machine): Record<string, string> {
  if (volume.configMap !== undefined) {
    const { name } = volume.configMap;
    const found = objects.find(
      ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name,
    );
    if (found === undefined) throw new Error(`no ConfigMap ${name}`);
    return found["data"] as Record<string, string>;
  }
  const secretName = volume.secret?.secretName;
  const items = [
    ...(volume.secret?.items ?? []).map((item) => ({ ...item, name: secretName ?? "" })),
    ...(volume.projected?.sources ?? []).flatMap(({ secret }) =>
      secret.items.map((item) => ({ ...item, name: secret.name })),
    ),
  ];
  return Object.fromEntries(
    items.map(({ name, key, path: file }) => {
      const value = secrets[name]?.[key];
      if (value === undefined) throw new Error(`no key ${key} in the Secret ${name}`);
      return [file, value];
    }),
  );
}
