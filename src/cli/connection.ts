/** Where the command line finds a running Vedette, and how it calls it. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { request } from "undici";
import type { z } from "zod";
import { Credentials, Endpoints } from "#embedded/contract.ts";
import { FleetList, fleetService } from "#fleet/contract.ts";
import {
  type RolloutHandlerName,
  rolloutHandlers,
  rolloutServiceName,
  singletonKey,
} from "#rollout/contract.ts";

export type ConnectionOptions = {
  url?: string | undefined;
  tokenFile?: string | undefined;
  dataDir?: string | undefined;
};

/** The program did not answer: it may the next time. */
export class ConnectionError extends Error {}

/** The program refused. The message is its own. */
class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Output<Handler extends RolloutHandlerName> = z.infer<
  (typeof rolloutHandlers)[Handler]["output"]
>;

export type Connection = ReturnType<typeof connect>;

const answerTimeoutMs = 30_000;

/** Reads address and token: options first, then the environment, then the data directory. */
export function connect(options: ConnectionOptions) {
  const target = findTarget(options);
  return {
    /** Calls a handler of the rollout. A call that blocks waits for as long as it takes. */
    rollout: async <Handler extends RolloutHandlerName>(
      handler: Handler,
      body: object = {},
      wait: { blocks?: boolean; signal?: AbortSignal } = {},
    ): Promise<Output<Handler>> => {
      const path_ = `/${rolloutServiceName}/${singletonKey}/${handler}`;
      const answer = await post(target, path_, { body, ...wait });
      return rolloutHandlers[handler].output.parse(answer) as Output<Handler>;
    },
    sentinels: async (page: { limit: number; cursor?: string | undefined }): Promise<FleetList> =>
      FleetList.parse(await post(target, `/${fleetService.name}/List`, { body: page })),
  };
}

type Target = { url: string; token: string };

function findTarget(options: ConnectionOptions): Target {
  const environment = process.env;
  const dataDir = options.dataDir ?? environment["VEDETTE_DATA_DIR"] ?? ".vedette";
  const url = options.url ?? environment["VEDETTE_CONTROL_URL"] ?? readControlUrl(dataDir);
  const token =
    options.tokenFile === undefined
      ? (environment["INGRESS_TOKEN"] ?? readLocalToken(dataDir))
      : readFileSync(options.tokenFile, "utf8").trim();
  return { url: url.replace(/\/+$/, ""), token };
}

function readControlUrl(dataDir: string): string {
  const file = path.join(dataDir, "endpoints.json");
  const control = existsSync(file) ? Endpoints.parse(readJson(file)).control : undefined;
  if (control !== undefined) return control;
  throw new Error(
    `no Vedette runs on ${path.resolve(dataDir)}: start one with "npm start", or name another with --url`,
  );
}

function readLocalToken(dataDir: string): string {
  const file = path.join(dataDir, "credentials.json");
  if (existsSync(file)) return Credentials.parse(readJson(file)).ingress_token;
  throw new Error("no token: set INGRESS_TOKEN, or name a file with --token-file");
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw new Error(`${file} cannot be read as JSON`);
  }
}

type Call = { body: object; blocks?: boolean; signal?: AbortSignal };

async function post(target: Target, path_: string, call: Call): Promise<unknown> {
  // A rollout answers when it is over: then no time limit is ours to set.
  const timeoutMs = call.blocks === true ? 0 : answerTimeoutMs;
  const answer = await request(`${target.url}${path_}`, {
    method: "POST",
    headers: { authorization: `Bearer ${target.token}`, "content-type": "application/json" },
    body: JSON.stringify(call.body),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    ...(call.signal !== undefined && { signal: call.signal }),
  }).catch((cause: unknown) => {
    const { code = "no answer" } = cause as { code?: string };
    throw new ConnectionError(`${target.url} cannot be reached (${code})`, { cause });
  });
  const text = await answer.body.text();
  const body = parseBody(text);
  if (answer.statusCode < 300) return body;
  const { detail } = (body ?? {}) as { detail?: string };
  const message = detail ?? `${target.url} answered ${answer.statusCode}`;
  if (answer.statusCode >= 500) throw new ConnectionError(message);
  throw new RefusedError(answer.statusCode, message);
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
