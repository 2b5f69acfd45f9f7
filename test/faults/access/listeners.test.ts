/** Every port of a program that runs, for a caller of the same machine and user without a credential. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { connect } from "node:http2";
import path from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeToken } from "#cli/token.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const reader = makeToken();

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: `sha256:${reader.hash}`,
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "read",
    VEDETTE_ANALYTICS__ENABLED: "true",
  });
  await program.askAnalytics();
});

afterAll(() => program?.dispose());

const json = { "content-type": "application/json" };

const post = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { method: "POST", headers: { ...json, ...headers }, body: "{}" });
  return answer.status;
};

describe("with Restate itself behind it", () => {
  it.each([
    ["control", ({ control }: Record<string, unknown>) => `${control}`],
    ["Restate's ingress", (at: Record<string, unknown>) => `${at["restate_ingress"]}`],
    ["Restate's console", (at: Record<string, unknown>) => `${at["restate_admin"]}/ingress`],
  ])("%s lets each caller do what its role says", async (_place, addressOf) => {
    const url = `${addressOf(program.endpoints())}${rollout}`;
    const as = (token: string) => ({ authorization: `Bearer ${token}` });

    const statuses = [
      await post(`${url}/Status`),
      await post(`${url}/Status`, as("wrong")),
      await post(`${url}/Status`, as(reader.token)),
      await post(`${url}/Cancel`, as(reader.token)),
      await post(`${url}/Status`, as(program.token())),
    ];

    expect(statuses).toEqual([401, 401, 200, 403, 200]);
  });
});

it("the worker carries out no call that Restate has not signed", async () => {
  const ca = readFileSync(path.join(program.dataDir, "restate", "worker.pem"));
  const client = connect(program.endpoints().worker ?? "", { ca });
  const ask = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const stream = client.request(headers);
      stream.once("response", (answer) => resolve(Number(answer[":status"])));
      stream.once("error", reject);
      stream.end(headers[":method"] === "POST" ? "{}" : undefined);
    });
  const invoke = {
    ":method": "POST",
    ":path": "/invoke/vedette.v1.SentinelRolloutService/Rollout",
    "content-type": "application/vnd.restate.invocation.v5",
  };
  const discover = {
    ":path": "/discover",
    accept: "application/vnd.restate.endpointmanifest.v3+json",
  };

  const statuses = [await ask(invoke), await ask(discover)];
  client.destroy();

  expect(statuses).toEqual([401, 401]);
});

it("Postgres lets nobody in without the password", async () => {
  const address = program.endpoints().database ?? "";

  for (const password of ["", "vedette", "postgres"]) {
    const url = new URL(address);
    const { hostname, port, pathname } = url;
    const client = new Client({
      host: hostname,
      port: Number(port),
      user: "vedette",
      database: pathname.slice(1),
      password,
    });
    await expect(client.connect()).rejects.toThrow(/password/);
  }
});

it.runIf(process.platform === "linux")(
  "no further port of its processes answers a caller without a credential",
  async () => {
    const endpoints = program.endpoints();
    await waitFor(async () => (await program.post("vedette.v1.FleetService/List")).status === 200, {
      withinMs: 30_000,
      what: "the fleet",
    });
    const known = [
      endpoints.api,
      endpoints.control,
      endpoints.metrics,
      endpoints.worker,
      endpoints.database,
      endpoints["restate_ingress"],
      endpoints["restate_admin"],
    ].map((url) => new URL(url ?? "").port);
    const others = portsOf(familyOf(endpoints.pid)).filter((port) => !known.includes(port));

    const open: string[] = [];
    for (const port of others) {
      for (const at of ["/", "/health", "/metrics", "/?query=SELECT+1"]) {
        const status = (await fetch(`http://127.0.0.1:${port}${at}`)).status;
        if (![401, 403].includes(status)) open.push(`${port}${at}: ${status}`);
      }
    }

    expect(others.length).toBeGreaterThanOrEqual(1);
    expect(open).toEqual([]);
  },
);

it("files with secrets are their owner's alone, also in a directory that others may enter", () => {
  const files = readdirSync(program.dataDir, { recursive: true, withFileTypes: true });
  const secret = files.filter(
    (file) =>
      file.isFile() &&
      /credentials|\.pem$|sentinels.*json$/.test(path.join(file.parentPath, file.name)),
  );

  const loose = secret.filter(
    (file) => (statSync(path.join(file.parentPath, file.name)).mode & 0o077) !== 0,
  );

  expect(secret.length).toBeGreaterThan(2);
  expect(loose.map(({ name }) => name)).toEqual([]);
});

/** A process, and whatever it has started, even if that has left it. */
function familyOf(pid: number): number[] {
  const own = new RegExp(program.dataDir);
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const isOurs = (candidate: number) => {
    try {
      const command = readFileSync(`/proc/${candidate}/cmdline`, "utf8");
      const environment = readFileSync(`/proc/${candidate}/environ`, "utf8");
      return (
        candidate === pid ||
        own.test(command) ||
        own.test(environment) ||
        parentOf(candidate) === pid
      );
    } catch {
      return false;
    }
  };
  return all.filter(isOurs);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

function portsOf(pids: number[]): string[] {
  const own = new Set(
    pids.flatMap((pid) =>
      existsSync(`/proc/${pid}/fd`)
        ? readdirSync(`/proc/${pid}/fd`).map((fd) => {
            try {
              return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
            } catch {
              return undefined;
            }
          })
        : [],
    ),
  );
  return ["tcp", "tcp6"]
    .flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === "0A" && own.has(inode))
    .map(([, local = ""]) => String(Number.parseInt(local.split(":")[1] ?? "", 16)));
}
