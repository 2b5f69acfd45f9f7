/** Registers the worker's address and its services at Restate, or waits until somebody else has. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pRetry, { AbortError } from "p-retry";
import { z } from "zod";
import { pause } from "#kernel/async.ts";
import { readBody } from "#kernel/body.ts";
import type { Log } from "#kernel/log.ts";
import { requestRestate } from "#kernel/restate.ts";
import { listOf } from "#kernel/setting.ts";
import { revisionMark } from "./config.ts";
import { isTransient, readReason } from "./restate-admin.ts";

export type Registration = {
  adminUrl: string;
  /** The address at which Restate reaches the worker, without a path. */
  workerUrl: string;
  /** Part of the address. Changes with the code, because Restate never reads a known address again. */
  revision: string;
  /** The owner of the services: a Restate that serves another installation is refused. Absent: no check. */
  installation?: string;
};

/** Returns the address of this version. */
export function advertisedUrlOf({ advertised_url: url }: { advertised_url: string }): string {
  return url.includes(revisionMark) ? url.replaceAll(revisionMark, codeRevision()) : url;
}

const requestTimeoutMs = 10_000;

type AdminBody = Parameters<typeof readBody>[0];

/**
 * Retries for about 30 s until Restate answers. Afterwards new calls reach this address, also if a later version was
 * registered at another one: the process that was started last serves. Returns true if it took them from another address.
 */
export async function registerWorker(registration: Registration): Promise<boolean> {
  const once = async () => {
    await requireOwnRestate(registration);
    const known = await register(registration);
    if (known === undefined) return false;
    if (!isSuperseded(await readDeployments(registration.adminUrl), known)) return false;
    await register(registration, { force: true });
    return true;
  };
  return pRetry(once, untilRestateAnswers);
}

const untilRestateAnswers = { retries: 12, minTimeout: 100, maxTimeout: 4_000 };

const registeredEveryMs = 1_000;

type Wait = { log: Log; signal?: AbortSignal | undefined };

/** Returns once somebody has registered this worker, by its whole address, or after an abort. Says what it waits for. */
export async function awaitRegistered(
  of: Registration,
  { log, signal: stop }: Wait,
): Promise<void> {
  const signal = stop ?? new AbortController().signal;
  const uri = uriOf(of);
  let isTold = false;
  while (!signal.aborted) {
    const deployments = await pRetry(() => readDeployments(of.adminUrl), untilRestateAnswers);
    if (deployments.some((one) => one.uri?.replace(/\/+$/, "") === uri)) return;
    if (!isTold)
      log.warn({ uri }, "waiting until this worker is registered at Restate (worker.register)");
    isTold = true;
    await pause(registeredEveryMs, signal);
  }
}

const uriOf = ({ workerUrl, revision }: Registration) => `${workerUrl}/rev-${revision}`;

/**
 * Returns the deployment's id if Restate has ignored the registration, because it knew the address: it only reads that
 * again, and lets it serve, with `force`.
 */
async function register(
  registration: Registration,
  options?: { force: true },
): Promise<string | undefined> {
  const { adminUrl, workerUrl, installation } = registration;
  const answer = await requestRestate(`${adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      uri: uriOf(registration),
      breaking: true,
      ...(installation !== undefined && {
        additional_headers: { [installationHeader]: installation },
      }),
      ...options,
    }),
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (answer.statusCode === 200 && options === undefined) {
    return (await readAdmin(answer.body, Registered, "registration of a deployment")).id;
  }
  if (answer.statusCode < 300) {
    await answer.body.dump();
    return undefined;
  }
  const reason = await readReason(answer.body, 1_000);
  const message = `Restate refused the worker at ${workerUrl}: ${answer.statusCode} ${reason}`;
  // Usually Restate cannot reach us yet. A refusal of what we sent is final.
  throw isTransient(answer.statusCode) ? new Error(message) : new AbortError(message);
}

/** True if another deployment serves any of the services of this one: the highest revision of a service does. */
export function isSuperseded(deployments: readonly Deployment[], id: string): boolean {
  const own = deployments.find((one) => one.id === id)?.services ?? [];
  return own.some(({ name, revision }) =>
    deployments.some(({ services }) =>
      services.some((other) => other.name === name && other.revision > revision),
    ),
  );
}

/** A short hash over the program's own code: its source or, in the npm package, what was compiled of it. */
export function codeRevision(): string {
  return hashCode(fileURLToPath(new URL("../", import.meta.url)), path.extname(import.meta.url));
}

/** `root` ends with a slash; `extension` is that of the code. */
export function hashCode(root: string, extension: string): string {
  const hash = createHash("sha256");
  for (const file of globSync(`**/*${extension}`, { cwd: root }).sort()) {
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(`${root}${file}`));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Restate stores this header with each address of a worker and sends it with each call. */
const installationHeader = "x-vedette-installation";

const timeoutMs = 10_000;

/** Far more than the list of any Restate. */
const mostBytes = 16 * 1024 * 1024;
const mostItems = 100_000;

const Registered = z.object({ id: z.string() });

const Deployments = z.object({
  deployments: listOf(
    z.object({
      id: z.string(),
      uri: z.string().optional(),
      additional_headers: z.record(z.string(), z.string()).optional(),
      services: listOf(z.object({ name: z.string(), revision: z.number() }), mostItems).default([]),
    }),
    mostItems,
  ),
});
export type Deployment = z.infer<typeof Deployments>["deployments"][number];

/** Throws an `AbortError`, which isn't retried, when this Restate already serves another installation. */
async function requireOwnRestate(of: { adminUrl: string; installation?: string }): Promise<void> {
  if (of.installation === undefined) return;
  const other = findOtherInstallation(await readDeployments(of.adminUrl), of.installation);
  if (other === undefined) return;
  throw new AbortError(
    `the Restate at ${new URL(of.adminUrl).host} serves the installation ${other.installation} ` +
      `(${other.deployment}), but this database belongs to ${of.installation}: set a Restate of its own ` +
      "(restate.ingress_url, restate.admin_url) or the right database (database.url); if the other " +
      "installation no longer exists, remove its deployments from Restate first",
  );
}

/** The first address that another installation registered. */
export function findOtherInstallation(deployments: readonly Deployment[], installation: string) {
  for (const { id, additional_headers = {}, services } of deployments) {
    const other = Object.entries(additional_headers).find(
      ([name]) => name.toLowerCase() === installationHeader,
    )?.[1];
    const isOurKind = services.some(({ name }) => name.startsWith("vedette."));
    if (isOurKind && other !== undefined && other !== installation) {
      return { deployment: id, installation: other.replaceAll(/[^\w-]/g, "").slice(0, 64) };
    }
  }
  return undefined;
}

async function readDeployments(adminUrl: string): Promise<Deployment[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await requestRestate(`${adminUrl}/deployments`, { signal });
  if (answer.statusCode >= 300) {
    await answer.body.dump();
    throw new Error(`Restate answered ${answer.statusCode} to the list of deployments`);
  }
  return (await readAdmin(answer.body, Deployments, "list of deployments")).deployments;
}

/** Throws an `AbortError` if the body is too large or of another shape. */
async function readAdmin<T>(body: AdminBody, shape: z.ZodType<T>, what: string): Promise<T> {
  const bytes = await readBody(body, mostBytes);
  if (bytes === undefined) {
    throw new AbortError(`Restate's answer to the ${what} has more than ${mostBytes} bytes`);
  }
  try {
    return shape.parse(JSON.parse(bytes.toString("utf8")));
  } catch {
    throw new AbortError(`restate.admin_url: the answer to the ${what} is none of Restate's`);
  }
}
