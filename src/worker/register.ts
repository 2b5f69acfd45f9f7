/** Registers the worker's address and its services at Restate. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pRetry, { AbortError } from "p-retry";
import { requestRestate } from "#kernel/restate-address.ts";
import { installationHeader, requireOwnRestate } from "./owner.ts";
import { isTransient, readReason } from "./restate-admin.ts";

export type Registration = {
  adminUrl: string;
  /** Where Restate reaches the worker, without a path. */
  workerUrl: string;
  /** Part of the address. Changes with the code, because Restate never reads a known address again. */
  revision: string;
  /** The owner of the services: a Restate that serves another installation is refused. Absent: no check. */
  installation?: string;
};

const requestTimeoutMs = 10_000;

/**
 * Registers the worker and retries until Restate answers, for about 30 s. Registering the same revision
 * twice changes nothing; another revision makes new invocations use the new code.
 */
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
