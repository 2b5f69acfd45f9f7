/** The limiters of bench/limit-accuracy.ts: two instances each, that a caller's calls go to, with what they share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import path from "node:path";
import { freePort } from "../test/support/free-port.ts";
import { startTestRedis } from "../test/support/servers/redis.ts";
import { makeTempDir } from "../test/support/temp-dir.ts";
import { waitFor } from "../test/support/wait-for.ts";
import { type ApiBench, rootKey, type Served } from "./api-fixture.ts";

/** Each limits a caller to so many calls in each of these durations. */
export const limit = 100;
export const durationsMs = { short: 10_000, minute: 60_000 } as const;

export type Kind = keyof typeof durationsMs;

export type LimitSystem = {
  name: string;
  /** Asks one of its instances, 0 or 1, if a call passes; one that answers with an error lets none pass. */
  call: (caller: string, kind: Kind, instance?: number) => Promise<boolean>;
  /** Kills the first instance and starts it again. */
  kill9: () => Promise<void>;
  /** Kills the store that both share, and starts it again with nothing in it. */
  kill9Store?: () => Promise<void>;
  stop: () => Promise<void>;
};

type Post = {
  url: string;
  headers: Record<string, string>;
  body?: string;
  agent?: Agent | undefined;
};

/** Connections to one instance, few enough that a hundred calls at once take little time on a busy machine. */
const createAgent = () => new Agent({ keepAlive: true, maxSockets: 10 });

/** Without an agent on a connection of its own. */
function post({ url, headers, body = "", agent }: Post): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent: agent ?? false, headers, timeout: 5_000 });
    sent.on("timeout", () => sent.destroy(new Error(`${url} does not answer`)));
    sent.on("error", reject);
    sent.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("error", reject).on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}

/** `start`: one instance. */
async function startOverRedis(
  name: string,
  start: (redisUrl: string) => Promise<Served>,
): Promise<LimitSystem> {
  const redis = await startTestRedis();
  const instances = [await start(redis.url), await start(redis.url)];
  const agents = instances.map(createAgent);
  const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
  return {
    name,
    call: async (caller, kind, instance = 0) => {
      const asked = { namespace: "bench", identifier: caller, limit, duration: durationsMs[kind] };
      const url = `${instances[instance]?.url}/v2/ratelimit.limit`;
      const { text } = await post({
        url,
        headers,
        body: JSON.stringify(asked),
        agent: agents[instance],
      });
      return text.includes('"success":true');
    },
    kill9: async () => {
      await instances[0]?.kill9();
      agents[0] = createAgent();
      instances[0] = await start(redis.url);
    },
    kill9Store: async () => {
      await redis.kill9();
      await redis.restart();
    },
    stop: async () => {
      for (const { stop } of instances) await stop();
      await redis.stop();
    },
  };
}

export function startVedette({ serve }: ApiBench): Promise<LimitSystem> {
  return startOverRedis("Vedette over Redis", (redisUrl) =>
    serve("api", { environment: { BENCH_REDIS_URL: redisUrl } }),
  );
}

export function startFlexible({ serve }: ApiBench): Promise<LimitSystem> {
  const program = new URL("./peers/express-node.ts", import.meta.url);
  return startOverRedis("rate-limiter-flexible over Redis", (redisUrl) =>
    serve("express", { program, environment: { BENCH_REDIS_URL: redisUrl } }),
  );
}

/** A program with a file of settings for each instance; what it answers with 200 passes. */
async function startProxies(
  name: string,
  { command, ports }: { command: (instance: number) => string[]; ports: readonly number[] },
): Promise<LimitSystem> {
  const children: (ChildProcess | undefined)[] = [];
  const agents: Agent[] = [];
  const isUp = async (port = 0) =>
    (await post({ url: `http://127.0.0.1:${port}/other`, headers: {} })).status > 0;
  const start = async (instance: number) => {
    const [program = "", ...args] = command(instance);
    // A group of its own: nginx has a worker, which is killed as well.
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    children[instance] = child;
    agents[instance] = createAgent();
    await once(child, "spawn");
    await waitFor(() => isUp(ports[instance]), { withinMs: 5_000, what: `${name} to answer` });
  };
  const kill9 = async (instance: number) => {
    const child = children[instance];
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  for (const instance of ports.keys()) await start(instance);
  return {
    name,
    call: async (caller, kind, instance = 0) => {
      const url = `http://127.0.0.1:${ports[instance]}/${kind}`;
      return (
        (await post({ url, headers: { "x-caller": caller }, agent: agents[instance] })).status ===
        200
      );
    },
    kill9: async () => {
      await kill9(0);
      await start(0);
    },
    stop: async () => {
      for (const instance of ports.keys()) await kill9(instance);
    },
  };
}

/** A rate that is the limit of each duration, with a burst of the whole limit. */
export async function startNginx(): Promise<LimitSystem> {
  const dir = makeTempDir();
  // Its worker is another user.
  chmodSync(dir.path, 0o755);
  const ports = [await freePort(), await freePort()];
  for (const [instance, port] of ports.entries()) {
    mkdirSync(path.join(dir.path, `${instance}`));
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (part) => `${part}_temp_path ${dir.path}/${instance}/${part};`,
    );
    const at = (kind: Kind) =>
      `location = /${kind} { limit_req zone=${kind} burst=${limit - 1} nodelay; empty_gif; error_page 405 =200 @ok; }`;
    writeFileSync(
      path.join(dir.path, `${instance}.conf`),
      `pid ${dir.path}/${instance}/pid; error_log ${dir.path}/${instance}/log crit; daemon off; worker_processes 1;
      events {}
      http {
        access_log off; ${temporary.join(" ")} limit_req_status 429;
        limit_req_zone $http_x_caller zone=short:1m rate=${(limit * 1_000) / durationsMs.short}r/s;
        limit_req_zone $http_x_caller zone=minute:1m rate=${(limit * 60_000) / durationsMs.minute}r/m;
        server { listen 127.0.0.1:${port}; ${at("short")} ${at("minute")} location @ok { return 200; } }
      }`,
    );
  }
  const command = (instance: number) => ["nginx", "-c", `${dir.path}/${instance}.conf`];
  const system = await startProxies("nginx limit_req", { command, ports });
  return { ...system, stop: () => system.stop().finally(dir.remove) };
}

/** Stick tables that two peers share; only a call that passes is counted. */
export async function startHaproxy(): Promise<LimitSystem> {
  const dir = makeTempDir();
  const ports = [await freePort(), await freePort()];
  const peers = [await freePort(), await freePort()];
  const table = (kind: Kind) => {
    const store = `gpc0,gpc0_rate(${durationsMs[kind]}ms)`;
    return `backend ${kind}
      stick-table type string len 64 size 10k expire 120s store ${store} peers fleet`;
  };
  const rules = (kind: Kind, slot: number) => `
      http-request track-sc${slot} hdr(x-caller) table ${kind} if { path /${kind} }
      http-request deny deny_status 429 if { path /${kind} } { sc${slot}_gpc0_rate(${kind}) ge ${limit} }
      http-request sc-inc-gpc0(${slot}) if { path /${kind} }`;
  for (const [instance, port] of ports.entries()) {
    const members = peers.map((at, index) => `peer node${index} 127.0.0.1:${at}`);
    writeFileSync(
      path.join(dir.path, `${instance}.cfg`),
      `defaults
      mode http
      timeout connect 5s
      timeout client 10s
      timeout server 10s
    peers fleet
      ${members.join("\n      ")}
    frontend limits
      bind 127.0.0.1:${port}${rules("short", 0)}${rules("minute", 1)}
      http-request return status 200
    ${table("short")}
    ${table("minute")}
`,
    );
  }
  const command = (instance: number) => {
    const own = ["-L", `node${instance}`];
    return ["haproxy", "-db", "-q", ...own, "-f", `${dir.path}/${instance}.cfg`];
  };
  const system = await startProxies("haproxy stick tables", { command, ports });
  return { ...system, stop: () => system.stop().finally(dir.remove) };
}
