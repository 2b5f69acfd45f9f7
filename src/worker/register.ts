/** Registers the worker's address and its services at Restate. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pRetry, { AbortError } from "p-retry";
import { z } from "zod";
import { readBody } from "#kernel/body.ts";
import { requestRestate } from "#kernel/restate.ts";
import { listOf } from "#kernel/setting.ts";
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

const requestTimeoutMs = 10_000;

/** Retries for about 30 s until Restate answers. The same revision changes nothing; a new one takes new calls. */
export async function registerWorker(registration: Registration): Promise<void> {
  const once = async () => {
    await requireOwnRestate(registration);
    await register(registration);
  };
  await pRetry(once, { retries: 12, minTimeout: 100, maxTimeout: 4_000 });
}

async function register(registration: Registration): Promise<void> {
  const { adminUrl, workerUrl, revision, installation } = registration;
  const answer = await requestRestate(`${adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      uri: `${workerUrl}/rev-${revision}`,
      breaking: true,
      ...(installation !== undefined && {
        additional_headers: { [installationHeader]: installation },
      }),
    }),
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (answer.statusCode < 300) {
    await answer.body.dump();
    return;
  }
  const reason = await readReason(answer.body, 1_000);
  const message = `Restate refused the worker at ${workerUrl}: ${answer.statusCode} ${reason}`;
  // Usually Restate cannot reach us yet. A refusal of what we sent is final.
  throw isTransient(answer.statusCode) ? new Error(message) : new AbortError(message);
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

const Deployments = z.object({
  deployments: listOf(
    z.object({
      id: z.string(),
      additional_headers: z.record(z.string(), z.string()).optional(),
      services: listOf(z.object({ name: z.string() }), mostItems).default([]),
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
  const body = await readBody(answer.body, mostBytes);
  if (body === undefined) {
    throw new AbortError(`Restate's list of deployments has more than ${mostBytes} bytes`);
  }
  const parsed = Deployments.safeParse(JSON.parse(body.toString("utf8")));
  if (parsed.success) return parsed.data.deployments;
  throw new AbortError(`the answer of ${adminUrl} is not a list of Restate's deployments`);
}
