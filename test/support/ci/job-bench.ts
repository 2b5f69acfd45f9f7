/** `control` that trusts jobs of CI, with a Restate that answers everything. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConfig } from "#config.ts";
import { createIssuers } from "#control/ci-trust/issuers.ts";
import { createCiJobs } from "#control/ci-trust/jobs.ts";
import type { UsedTokens } from "#control/ci-trust/used-tokens.ts";
import { createControl } from "#control/control.ts";
import { createReadActor, targetOfPath } from "#kernel/actor.ts";
import { createLog } from "#kernel/log.ts";
import { createReach, type Reach } from "#kernel/reach.ts";

const actorKey = Buffer.alloc(32, 7);
export const rolloutPath = "/vedette.v1.SentinelRolloutService/singleton/Rollout";

type Actor = ReturnType<ReturnType<typeof createReadActor>>;

type Options = {
  rows: readonly object[];
  used?: UsedTokens;
  environment?: Record<string, string>;
  reach?: Reach;
  /** In place of the Restate that answers everything. */
  ingressUrl?: string;
};

function createMemoryTokens(): UsedTokens {
  const used = new Set<string>();
  return {
    add: async (hash) => {
      const key = hash.toString("hex");
      if (used.has(key)) return false;
      used.add(key);
      return true;
    },
  };
}

export async function startJobBench({ rows, used = createMemoryTokens(), ...options }: Options) {
  const { ci_trust, public_url: publicUrl } = readConfig({
    environment: { ...options.environment, VEDETTE_CONTROL__CI_TRUST: JSON.stringify(rows) },
  }).control;
  const lines: Record<string, unknown>[] = [];
  const actors: Actor[] = [];
  const readActor = createReadActor(actorKey);
  const restate = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const headers = new Map(Object.entries(request.headers).map(([name, v]) => [name, String(v)]));
    const target = targetOfPath(request.url ?? "") ?? "";
    const asked = { headers, body: Buffer.from(body), target: { toString: () => target } };
    actors.push(readActor({ request: () => asked } as never));
    response.end("{}");
  });
  restate.listen(0, "127.0.0.1");
  await once(restate, "listening");
  const silent = createLog({ level: "silent", format: "json" });
  const note = (fields: object, message: string) => void lines.push({ ...fields, message });
  const log = Object.assign(Object.create(silent) as typeof silent, { info: note, warn: note });
  const control = createControl({
    ingressUrl: options.ingressUrl ?? `http://127.0.0.1:${(restate.address() as AddressInfo).port}`,
    ingressToken: "shared",
    actorKey,
    ciJobs: createCiJobs({
      ...{ rows: ci_trust, publicUrl, used, log },
      issuers: createIssuers({ reach: options.reach ?? createReach() }),
      secret: Buffer.alloc(32, 5),
    }),
    log,
  });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  const call = async (path: string, bearer: string, body?: object) => {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const parsed = JSON.parse(text || "{}") as Record<string, unknown>;
    return { status: answer.status, body: parsed };
  };
  return {
    url,
    lines,
    /** The callers of Restate, as a worker reads them. */
    actors,
    call,
    exchange: (token: string) => call("/ci/session", token),
    stop: async () => {
      await control.close();
      restate.close();
      restate.closeAllConnections();
    },
  };
}
