/**
 * Runs whose orders may no longer be sent. A stop is permanent, so that it is effective whatever is
 * killed, repeated or delayed.
 */
import type { Database } from "#kernel/database.ts";
import type { ReasonCode } from "./contract.ts";

/** The number of stopped runs that this process remembers: no orders of older ones can be pending. */
const maxRemembered = 1_000;

export function createStoppedRuns(database: Database) {
  const stopped = new Set<string>();
  const unsent = new Set<string>();
  return {
    /**
     * The deploys whose first permission this process has, and whose order it has not sent yet. Their rows say that they are
     * ordered.
     */
    unsent,

    /**
     * Stops a run permanently. Once it has resolved, this process sends no order of that run, not even
     * one that had its permission before.
     */
    async stopRun(run: string): Promise<void> {
      await database.query(insertStop, [run]);
      stopped.add(run);
      const [oldest] = stopped;
      if (stopped.size > maxRemembered && oldest !== undefined) stopped.delete(oldest);
    },

    /**
     * Counts those of these sentinels that were last ordered by one of these runs, ended deploys included. One that is
     * no longer in the fleet's list counts too, since it may have been. Call it after `stopRun`: then this process
     * sends nothing that it has not sent yet.
     */
    async countOrdered(runs: readonly string[], ids: readonly string[]): Promise<number> {
      const neverSent = new Set(unsent);
      const { rows } = await database.query(findOrderedOf, [runs, ids]);
      // Some had no answer to their permission yet.
      for (const deploy of unsent) neverSent.add(deploy);
      return rows.filter(({ deploy_id }) => !neverSent.has(deploy_id)).length;
    },

    /** True if this process has stopped the run; another one may have. */
    isStoppedHere: (run: string | undefined): boolean => run !== undefined && stopped.has(run),

    /**
     * Restores the row of a sentinel whose order was never sent. If the row then says that another deploy
     * is in progress, that one was killed, since a sentinel has one at a time; it is marked as failed.
     */
    async putBack({ id, deployId }: { id: string; deployId: string }): Promise<void> {
      await database.query(putBackSentinel, [id, deployId]);
      await database.query(endKilled, [id, killedReason]);
    },
  };
}

const killedReason = `${"cancelled" satisfies ReasonCode}: its deploy was killed`;

const endKilled = `
  UPDATE sentinels SET deploy_status = 'failed', deploy_reason = $2, health = 'unknown',
    updated_at = now()
  WHERE id = $1 AND deploy_status = 'progressing'`;

const insertStop = "INSERT INTO stopped_runs (run) VALUES ($1) ON CONFLICT DO NOTHING";

const findOrderedOf = `
  SELECT s.deploy_id FROM unnest($2::text[]) AS t (id) LEFT JOIN sentinels AS s USING (id)
  WHERE s.id IS NULL OR s.deploy_run = ANY($1::text[])`;

// A deploy that was in progress before this one has ended without a result: none is in progress now.
const putBackSentinel = `
  UPDATE sentinels SET
    image = before_deploy->>'image', previous_image = before_deploy->>'previous_image',
    deploy_status = CASE before_deploy->>'status' WHEN 'progressing' THEN 'failed'
      ELSE before_deploy->>'status' END,
    deploy_reason = before_deploy->>'reason',
    deploy_id = NULL, deploy_run = NULL, ordered_at = NULL, before_deploy = NULL,
    updated_at = now()
  WHERE id = $1 AND deploy_id = $2 AND deploy_status = 'progressing'`;
