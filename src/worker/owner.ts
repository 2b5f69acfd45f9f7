/** A Restate must serve one installation only: a second would take over its rollouts, checks and timers. */
import { AbortError } from "p-retry";
import { z } from "zod";
import { readBody } from "#kernel/body.ts";
import { listOf } from "#kernel/list-of.ts";
import { requestRestate } from "#kernel/restate-address.ts";

/** Restate stores this header with each address of a worker and sends it with each call. */
export const installationHeader = "x-vedette-installation";

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
export async function requireOwnRestate(of: {
  adminUrl: string;
  installation?: string;
}): Promise<void> {
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
