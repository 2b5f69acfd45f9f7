/** The runners at further locations: `MonitorRunners` manages them; a table has the time of each one's last request. */
import { implement } from "@restatedev/restate-sdk";
import { LRUCache } from "lru-cache";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { inTime } from "#kernel/async.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { runnerRegistry } from "#monitor/internal.ts";
import { refusal, refuseTaken } from "#monitor/operations/rules.ts";

/** `location`: that of the program's own runs. */
type Parts = { runners: Runners; location: string; readActor: ReadActor };

const problem = "the runners cannot be read or changed";
const listing = databaseRead("list", { limitMs: 5_000, problem });
/** Longer than a statement can take: a change must not take effect after its caller got an error. */
const changes = { limitMs: 330_000, problem };
const adding = databaseRead("add", changes);
const removal = databaseRead("remove", changes);

export function createRunnerRegistry({ runners, location: own, readActor }: Parts) {
  return implement(runnerRegistry, {
    handlers: {
      Add: async (ctx, { location, token_hash }) => {
        // With two reporters at one location, the reports of the slower one would be ignored.
        if (location === own) {
          throw refusal(409, "location_taken", `${own} is the location of Vedette itself`);
        }
        const by = nameOf(readActor(ctx));
        const add = () => runners.add(location, { tokenHash: token_hash, by });
        const { replaced } = await readNow(ctx, adding, add);
        ctx.console.info("runner added", { location, by, replaced });
        return { location, replaced };
      },
      Remove: async (ctx, { location }) => {
        const by = nameOf(readActor(ctx));
        await readNow(ctx, removal, () => runners.remove(location, by));
        ctx.console.info("runner removed", { location, by });
        return { location };
      },
      List: async (ctx) => ({ runners: await readNow(ctx, listing, () => view(runners)) }),
    },
    options: { journalRetention: 0, asTerminalError, handlers: { List: unkept } },
  });
}

async function view(runners: Runners) {
  const known = await runners.list();
  return known.map(({ location, createdAt, addedBy, seenAt }) => ({
    location,
    created_at: createdAt.toISOString(),
    added_by: addedBy,
    seen_at: seenAt?.toISOString() ?? null,
  }));
}

export type Runners = ReturnType<typeof createRunners>;

type KnownRunner = { location: string; createdAt: Date; addedBy: string; seenAt: Date | null };

/** Cached, since every run of every check calls `expected`. */
const expectedTtlMs = 1_000;
/** A query that hangs would delay the run. */
const queryTimeoutMs = 2_000;

export function createRunners(database: Database) {
  const expected = new LRUCache<"all", string[]>({
    max: 1,
    ttl: expectedTtlMs,
    // Checks run although the database is down.
    allowStaleOnFetchRejection: true,
    fetchMethod: async () => {
      const { rows } = await database.query(findExpected);
      return rows.map(({ location }) => location);
    },
  });
  const isKnownToken = createIsKnownToken(database);
  return {
    /** Lets the holder of the token with this hash (hex) report for `location`; revokes an earlier token. */
    async add(
      location: string,
      { tokenHash, by }: { tokenHash: string; by: string },
    ): Promise<{ replaced: boolean }> {
      const row = [location, Buffer.from(tokenHash, "hex"), by];
      return inTransaction(database, async (transaction) => {
        const { rows } = await transaction.query(saveRunner, row).catch(refuseTaken);
        const replaced = rows[0]?.replaced === true;
        const what = replaced ? "Replaced the token of the runner" : "Added a runner";
        await recordAudit(transaction, [auditOf("add", location, { by, what })]);
        return { replaced };
      });
    },

    /** Throws 404 `unknown_runner`. */
    async remove(location: string, by: string): Promise<void> {
      await inTransaction(database, async (transaction) => {
        const { rowCount } = await transaction.query(dropRunner, [location]);
        if (rowCount === 0) {
          throw refusal(404, "unknown_runner", `there is no runner at ${location}`);
        }
        const what = "Removed the runner";
        await recordAudit(transaction, [auditOf("remove", location, { by, what })]);
      });
    },

    async list(): Promise<KnownRunner[]> {
      const { rows } = await database.query(listRunners);
      return rows.map((row) => ({
        location: row.location,
        createdAt: row.created_at,
        addedBy: row.added_by,
        seenAt: row.seen_at,
      }));
    },

    /** The locations that are expected to report: their runner connected once and was not removed. */
    async expected(): Promise<string[]> {
      const fetch = async () => (await expected.fetch("all")) ?? [];
      const known = expected.peek("all", { allowStale: true });
      if (known === undefined) return fetch();
      // The timeout is here: after a fetch that is aborted and then fails, the cache would fetch no more.
      return inTime(fetch, { limitMs: queryTimeoutMs, otherwise: known });
    },

    /** Returns the location of the runner with this token and records its request; null: unknown token. */
    async identify(tokenHash: Buffer): Promise<string | null> {
      if (!(await isKnownToken(tokenHash))) return null;
      const { rows } = await database.query(updateRunner, [tokenHash]);
      return rows[0]?.location ?? null;
    },
  };
}

function auditOf(verb: "add" | "remove", id: string, { by, what }: { by: string; what: string }) {
  const targets = [{ type: "runner", id }];
  return { event: `runner.${verb}`, description: `${what} at ${id}`, actor: actorOf(by), targets };
}

const saveRunner = `
  WITH before AS (SELECT count(*) AS runners FROM check_runners WHERE location = $1)
  INSERT INTO check_runners (location, token_hash, added_by) VALUES ($1, $2, $3)
  ON CONFLICT (location) DO UPDATE SET token_hash = excluded.token_hash, added_by = excluded.added_by
  RETURNING (SELECT runners > 0 FROM before) AS replaced`;

const dropRunner = "DELETE FROM check_runners WHERE location = $1";

const listRunners =
  "SELECT location, created_at, added_by, seen_at FROM check_runners ORDER BY location";

const findExpected =
  "SELECT location FROM check_runners WHERE seen_at IS NOT NULL ORDER BY location";

const updateRunner = `
  UPDATE check_runners SET seen_at = now() WHERE token_hash = $1 RETURNING location`;

/** Unauthenticated callers may send many: concurrent look-ups share one query. `tokenHash`: its SHA-256. */
function createIsKnownToken(database: Database): (tokenHash: Buffer) => Promise<boolean> {
  return createGroups(async (hashes: readonly Buffer[]) => {
    const { rows } = await database.query(findKnown, [hashes]);
    const known = new Set(rows.map(({ token }) => token));
    return hashes.map((hash) => known.has(hash.toString("hex")));
  });
}

const findKnown = `
  SELECT encode(token_hash, 'hex') AS token FROM check_runners WHERE token_hash = ANY ($1::bytea[])`;
