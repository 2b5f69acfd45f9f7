/** Resumes invocations that a retry policy of an earlier version, or of the server, has paused. */
import type { Log } from "#kernel/log.ts";
import type { RestateAdmin } from "./restate-admin.ts";

const mostAtOnce = 5_000;

/** The names of our services, since other programs may use the same Restate. */
const ours = "vedette.v1.";

const findPaused = `
  SELECT id FROM sys_invocation
  WHERE status = 'paused' AND target_service_name LIKE '${ours}%' LIMIT ${mostAtOnce}`;

/**
 * Resumes the paused invocations of our services; must be called after the worker is registered. Restate
 * retries those that still fail. Never throws, because the program works without it.
 */
export async function resumePaused(admin: RestateAdmin, log: Log): Promise<void> {
  try {
    const paused = await admin.query<{ id: string }>(findPaused);
    await admin.change(
      "resume",
      paused.map(({ id }) => id),
    );
    if (paused.length > 0) log.info({ invocations: paused.length }, "paused invocations resumed");
  } catch (error) {
    log.warn({ detail: (error as Error).message }, "paused invocations not resumed");
  }
}
