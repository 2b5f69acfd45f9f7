/** `control` before an identity provider, with a Restate that answers everything, and a clock of the test's. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConfig } from "#config.ts";
import { createControl } from "#control/control.ts";
import type { Names } from "#control/sign-in/names.ts";
import { createProvider, type FetchLimits } from "#control/sign-in/provider.ts";
import { createSignIn, type Logouts } from "#control/sign-in/sign-in.ts";
import { createLog } from "#kernel/log.ts";
import { createMemoryNames } from "./memory-names.ts";

export type SignInBench = Awaited<ReturnType<typeof startSignInBench>>;

type Options = {
  /** The settings, as the program gets them. */
  environment: Record<string, string>;
  logouts?: Logouts;
  names?: Names;
  limits?: FetchLimits;
  secret?: Uint8Array;
};

export function createMemoryLogouts(): Logouts {
  const ended = new Set<string>();
  return { has: async ({ id }) => ended.has(id), add: async ({ id }) => void ended.add(id) };
}

export const statusPath = "/vedette.v1.SentinelRolloutService/singleton/Status";
/** What Restate does not answer. */
export const rolloutPath = "/vedette.v1.SentinelRolloutService/singleton/Rollout";
export const cancelPath = "/vedette.v1.SentinelRolloutService/singleton/Cancel";

export async function startSignInBench(options: Options) {
  const { oidc, operators } = readConfig({ environment: options.environment }).control;
  const lines: Record<string, unknown>[] = [];
  const actors: unknown[] = [];
  const clock = { aheadMs: 0 };
  const restate = createServer((request, response) => {
    actors.push(request.headers["x-vedette-actor"]);
    request.resume();
    if (request.url?.endsWith(rolloutPath) !== true) response.end("{}");
  });
  restate.listen(0, "127.0.0.1");
  await once(restate, "listening");
  const silent = createLog({ level: "silent", format: "json" });
  const note = (fields: object, message: string) => void lines.push({ ...fields, message });
  const log = Object.assign(Object.create(silent) as typeof silent, { info: note, warn: note });
  const nowMs = () => Date.now() + clock.aheadMs;
  const { limits } = options;
  const signIn = createSignIn({
    oidc,
    operators,
    provider: createProvider(oidc, { nowMs, ...(limits !== undefined && { limits }) }),
    names: options.names ?? createMemoryNames(),
    secret: options.secret ?? Buffer.alloc(32, 5),
    logouts: options.logouts ?? createMemoryLogouts(),
    log,
    nowMs,
  });
  const control = createControl({
    ingressUrl: `http://127.0.0.1:${(restate.address() as AddressInfo).port}`,
    ingressToken: "shared",
    operators,
    signIn,
    log,
  });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  return {
    url,
    signIn,
    lines,
    /** In whose name Restate was called. */
    actors,
    clock,
    call: (path: string, init: { bearer?: string; body?: object; method?: string } = {}) =>
      callControl(`${url}${path}`, init),
    stop: async () => {
      await control.close();
      restate.close();
      restate.closeAllConnections();
    },
  };
}

type Call = { bearer?: string; body?: object; method?: string };

async function callControl(address: string, { bearer, body, method = "POST" }: Call) {
  const answer = await fetch(address, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const parsed = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: answer.status, body: parsed };
}

/** What a command line keeps to itself until its sign-in is finished. */
export function makeSecret() {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}
