/** A Docker engine of our own, with all that it has in one directory, where dockerd is installed and we are root. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Agent, request } from "undici";
import { hasPrograms } from "../servers/programs.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export function canRunEngines(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || !mayMount()) return false;
  return hasPrograms("dockerd", "containerd", "docker-registry", "busybox");
}

/** CAP_SYS_ADMIN (21) and CAP_NET_ADMIN (12): root in a container may lack them. */
function mayMount(): boolean {
  const status = readFileSync("/proc/self/status", "utf8");
  const effective = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? "0"}`);
  return [21n, 12n].every((bit) => ((effective >> bit) & 1n) === 1n);
}

export type TestEngine = Awaited<ReturnType<typeof startDockerEngine>>;

/** `listen`: further addresses, with the options that they need. */
export async function startDockerEngine({ listen = [] as string[] } = {}) {
  const dir = makeTempDir();
  const socket = path.join(dir.path, "docker.sock");
  const log = openSync(path.join(dir.path, "engine.log"), "a");
  const spawnIn = (program: string, args: readonly string[]) =>
    spawn(program, args, { stdio: ["ignore", log, log] });
  // A process of its own, as on a host: dockerd's would end when that is killed.
  const containerd = spawnIn("containerd", containerdArguments(dir.path));
  let daemon: ChildProcess;

  const start = async () => {
    daemon = spawnIn("dockerd", [...argumentsIn(dir.path), ...listen]);
    await waitFor(async () => (await call("GET", "/_ping")).status === 200, {
      withinMs: 20_000,
      what: "the Docker engine to answer",
    });
  };

  const agent = new Agent({ connect: { socketPath: socket }, bodyTimeout: 0, headersTimeout: 0 });

  /** As any other client of the engine. */
  const call = async (
    method: "GET" | "POST" | "DELETE",
    address: string,
    body?: object,
    headers: Record<string, string> = {},
  ) => {
    const answer = await request(`http://docker${address}`, {
      dispatcher: agent,
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: parse(text) };
  };

  const expectCall = async (...args: Parameters<typeof call>) => {
    const answer = await call(...args);
    if (answer.status < 300 || answer.status === 304) return answer.body;
    throw new Error(
      `${args[0]} ${args[1]} answered ${answer.status}: ${JSON.stringify(answer.body)}`,
    );
  };

  const pull = async (image: string, auth: Credential | undefined) => {
    const credential = auth && { username: auth.user, password: auth.password };
    const header = Buffer.from(JSON.stringify(credential ?? {})).toString("base64");
    const address = `/images/create?fromImage=${encodeURIComponent(image)}`;
    await expectCall("POST", address, undefined, { "x-registry-auth": header });
  };

  /** Names without their slash. */
  const containers = async (): Promise<TestContainer[]> => {
    const listed = (await expectCall("GET", "/containers/json?all=true")) as TestContainer[];
    return listed.map((one) => ({ ...one, Names: one.Names.map((name) => name.slice(1)) }));
  };

  await start();
  return {
    socket,
    url: `unix://${socket}`,
    call,
    containers,
    inspect: (name: string) => expectCall("GET", `/containers/${name}/json`) as Promise<Inspected>,
    /** Pulls the image by its tag and runs a container of it, which shares this machine's network. */
    run: async (name: string, options: RunOptions) => {
      const { image: pinned, auth, host = {}, labels = {}, networks = {}, ...config } = options;
      const image = pinned.replace(/@.*/, "");
      await pull(image, auth);
      await expectCall("POST", `/containers/create?name=${name}`, {
        ...config,
        Image: image,
        Labels: { "vedette.sentinel": "", "vedette.region": "eu", tier: "stable", ...labels },
        HostConfig: { NetworkMode: "host", ...host },
      });
      for (const [network, EndpointConfig] of Object.entries(networks)) {
        await expectCall("POST", `/networks/${network}/connect`, {
          Container: name,
          EndpointConfig,
        });
      }
      await expectCall("POST", `/containers/${name}/start`);
    },
    kill9: () => endProcess(daemon, "SIGKILL"),
    restart: start,
    stop: async () => {
      if (hasEnded(daemon)) await start();
      for (const { Id } of await containers())
        await call("DELETE", `/containers/${Id}?force=1&v=1`);
      await agent.destroy();
      await endProcess(daemon, "SIGTERM");
      await endProcess(containerd, "SIGTERM");
      closeSync(log);
      unmountIn(dir.path);
      dir.remove();
    },
  };
}

export type TestContainer = {
  Id: string;
  Names: string[];
  Image: string;
  State: string;
  Labels: Record<string, string>;
};

type Inspected = {
  Id: string;
  Config: Record<string, unknown>;
  HostConfig: Record<string, unknown>;
  Mounts: Record<string, unknown>[];
  State: Record<string, unknown>;
  NetworkSettings: { Networks: Record<string, Record<string, unknown>> };
};

type Credential = { user: string; password: string };

type RunOptions = {
  image: string;
  auth?: Credential;
  host?: object;
  labels?: Record<string, string>;
  /** Further ones, with its endpoint in each. */
  networks?: Record<string, object>;
  [config: string]: unknown;
};

const containerdSocket = "containerd.sock";

function containerdArguments(dir: string): string[] {
  const config = path.join(dir, "containerd.toml");
  // Engines of one machine would otherwise meet at its default addresses.
  const ttrpc = JSON.stringify(path.join(dir, "containerd.sock.ttrpc"));
  writeFileSync(
    config,
    `version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[ttrpc]\naddress = ${ttrpc}\n`,
  );
  return [
    `--config=${config}`,
    `--root=${path.join(dir, "containerd-root")}`,
    `--state=${path.join(dir, "containerd-state")}`,
    `--address=${path.join(dir, containerdSocket)}`,
  ];
}

/** Without networks of its own and with the simplest storage: what runs in a sandbox, too. */
function argumentsIn(dir: string): string[] {
  return [
    "--iptables=false",
    "--ip6tables=false",
    "--bridge=none",
    "--storage-driver=vfs",
    `--containerd=${path.join(dir, containerdSocket)}`,
    `--data-root=${path.join(dir, "data")}`,
    `--exec-root=${path.join(dir, "exec")}`,
    `--pidfile=${path.join(dir, "dockerd.pid")}`,
    "-H",
    `unix://${path.join(dir, "docker.sock")}`,
  ];
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** A killed engine leaves mounts behind, in which its directory cannot be removed. */
function unmountIn(dir: string): void {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const own = mounts.map((line) => line.split(" ")[1] ?? "").filter((at) => at.startsWith(dir));
  for (const at of own.toReversed()) spawnSync("umount", ["-l", at]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
