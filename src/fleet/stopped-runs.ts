/**
 * Runs whose orders may no longer go out. A stop is never taken back, so that it holds whatever is
 * killed, repeated or comes late.
 */
import type { Database } from "#kernel/database.ts";
import type { ReasonCode } from "./contract.ts";

/** How many stopped runs this process remembers: their last orders are long over. */
const maxRemembered = 1_000;

export function createStoppedRuns(database: Database) {
  const stopped = new Set<string>();
  return {
    /**
     * Stops a run for good. Once it has answered this process sends no order of that run, not even
     * one that was allowed to go out before.
     */
    async stopRun(run: string): Promise<void> {
      await database.query(insertStop, [run]);
      stopped.add(run);
      const [oldest] = stopped;
      if (stopped.size > maxRemembered && oldest !== undefined) stopped.delete(oldest);
    },

    /**
     * Of these sentinels, how many were last ordered by one of these runs, whether their deploys have ended or not.
     * One that has left the fleet's list meanwhile may have been.
     */
    async countOrdered(runs: readonly string[], ids: readonly string[]): Promise<number> {
      const { rows } = await database.query(countOrderedOf, [runs, ids]);
      return rows[0].ordered;
    },

    /** Whether this process has stopped the run; another one may have. */
    isStoppedHere: (run: string | undefined): boolean => run !== undefined && stopped.has(run),

    /**
     * Brings a sentinel whose order never went out back to what it was before. Where another deploy
     * is still said to be at work it was killed: a sentinel has one at a time.
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

const countOrderedOf = `
  SELECT count(*)::int AS ordered FROM unnest($2::text[]) AS t (id) LEFT JOIN sentinels AS s USING (id)
  WHERE s.id IS NULL OR s.deploy_run = ANY($1::text[])`;

// A deploy that was at work before this one has ended without a result: nothing is at work now.
const putBackSentinel = `
  UPDATE sentinels SET
    image = before_deploy->>'image', previous_image = before_deploy->>'previous_image',
    deploy_status = CASE before_deploy->>'status' WHEN 'progressing' THEN 'failed'
      ELSE before_deploy->>'status' END,
    deploy_reason = before_deploy->>'reason',
    deploy_id = NULL, deploy_run = NULL, ordered_at = NULL, before_deploy = NULL,
    updated_at = now()
  WHERE id = $1 AND deploy_id = $2 AND deploy_status = 'progressing'`;
