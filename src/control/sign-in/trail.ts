/** Writes to the audit log who signs in and out, who is refused, who calls for a change, and whom the settings let in. */
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isStop } from "#control/call-limit.ts";
import type { TrustRow } from "#control/ci-trust-config.ts";
import type { Operator } from "#control/config.ts";
import { backoffMs, inTime, pause } from "#kernel/async.ts";
import {
  type AccessEvent,
  type AuditRecord,
  actorOf,
  type RecordAccess,
  recordAudit,
} from "#kernel/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { cleanText } from "#kernel/text.ts";
import { createLimit, networkOf } from "./core.ts";

export type Trail = { record: RecordAccess; stop: () => Promise<void> };

type Parts = { database: Database; log: Log; nowMs?: () => number };

/** A caller waits so long, and no longer, while Postgres is away. The record is stored once it is back. */
const waitMs = 2_000;
/** Records that wait for Postgres, of all and of one caller's calls: a flood must not push out those of others, nor its own Cancel. */
const mostPending = { ofAll: 1_000, ofOne: 100 };
const roomEveryMs = 100;
const retries = { firstMs: 100, longestMs: 5_000 };
/** Refusals that are recorded in a minute, of one network and in all: whoever may not sign in must not fill the log. */
const refusals = { ofNetwork: 5, ofAll: 20 };
const longestWhat = 200;

export function createTrail({ database, log, nowMs = Date.now }: Parts): Trail {
  const stopping = new AbortController();
  const pending = new Set<Promise<void>>();
  const countOf = new Map<string, number>();
  let storedAtMs = Number.NEGATIVE_INFINITY;
  const admit = createAdmit(nowMs);
  const send = createGroups(async (records: readonly AuditRecord[]) => {
    await recordAudit(database, records);
    return records.map(() => undefined);
  });

  const store = async (record: AuditRecord): Promise<void> => {
    const { signal } = stopping;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await send(record);
        storedAtMs = performance.now();
        return;
      } catch (error) {
        const detail = (error as Error).message;
        if (failures === 0)
          log.warn({ event: record.event, detail }, "audit record not stored yet");
        await pause(backoffMs(failures, retries), signal);
      }
    }
  };

  const countFor = (caller: string) => countOf.get(caller) ?? 0;
  const isFull = (caller: string) =>
    pending.size >= mostPending.ofAll || countFor(caller) >= mostPending.ofOne;
  /** Stores it once there is room; undefined: there is none in time. */
  const enter = async (record: AuditRecord, caller: string) => {
    const untilMs = performance.now() + waitMs;
    while (isFull(caller)) {
      if (performance.now() >= untilMs) return undefined;
      await delay(roomEveryMs);
    }
    const stored = store(record).finally(() => {
      pending.delete(stored);
      countOf.set(caller, countFor(caller) - 1);
      if (countFor(caller) === 0) countOf.delete(caller);
    });
    pending.add(stored);
    countOf.set(caller, countFor(caller) + 1);
    return { stored };
  };

  return {
    record: async (event) => {
      const record = admit(event);
      if (record === undefined) return;
      const { id: actor } = record.actor;
      const isRefusable = mayBeRefused(event);
      const entered = await enter(record, isRefusable ? actor : `${actor} unrefused`);
      if (entered !== undefined) {
        await inTime(() => entered.stored, { limitMs: waitMs, otherwise: undefined });
        return;
      }
      // Postgres takes records, only not so many: what could not be recorded is not done.
      const isFlood = performance.now() - storedAtMs < waitMs;
      if (isFlood && isRefusable) throw tooMany(actor);
      log.error({ ...event }, "audit record dropped");
    },
    stop: async () => {
      const all = () => Promise.all(pending);
      await inTime<unknown>(all, { limitMs: waitMs, otherwise: undefined });
      stopping.abort();
    },
  };
}

/** Events of the other kinds are recorded after they were done. */
function mayBeRefused({ event, what }: AccessEvent): boolean {
  return event === "session.start" || (event === "call" && !isStop(what));
}

function tooMany(actor: string): ProblemError {
  const detail = `${actor} makes more calls than can be recorded: wait for their answers`;
  return new ProblemError({ status: 429, code: "too_many_calls", detail });
}

/** Returns the record of an event; undefined: too many were refused in this minute. */
function createAdmit(nowMs: () => number) {
  const ofNetwork = createLimit(refusals.ofNetwork);
  const ofAll = createLimit(refusals.ofAll);
  return (given: AccessEvent): AuditRecord | undefined => {
    const atMs = nowMs();
    if (!given.event.endsWith(".refused")) return toRecord(given, { atMs, isLast: false });
    const own = ofNetwork(networkOf(given.remote ?? ""), atMs);
    const all = own === "refused" ? own : ofAll("all", atMs);
    if (own === "refused" || all === "refused") return undefined;
    return toRecord(given, { atMs, isLast: own === "is-first" || all === "is-first" });
  };
}

const words: Record<AccessEvent["event"], string> = {
  "session.start": "Signed in",
  "session.end": "Signed out",
  "session.refused": "Sign-in refused",
  call: "Called",
  "call.refused": "Call not allowed",
};

/** `isLast`: the further ones of this minute are not recorded. */
function toRecord(given: AccessEvent, of: { atMs: number; isLast: boolean }): AuditRecord {
  const { event, actor, remote, requestId, meta } = given;
  const what = cleanText(given.what, longestWhat);
  const more = of.isLast ? "; further refusals of this minute are not recorded" : "";
  return {
    event,
    description: `${words[event]}: ${what}${more}`,
    actor: actor === undefined ? { type: "operator", id: "unknown" } : actorOf(actor),
    targets: [{ type: event.startsWith("call") ? "handler" : "session", id: what }],
    ...{ meta, requestId, remoteIp: remote, atMs: of.atMs },
    // A repetition after a broken connection writes no second row.
    key: randomUUID(),
  };
}

type Grants = {
  operators: Readonly<Record<string, Operator>>;
  ci_trust: readonly TrustRow[];
};

type Grant = {
  kind: "operator" | "ci_trust";
  name: string;
  digest: Buffer;
  roles: readonly string[];
};

/**
 * Compares whom the settings let in with those of the last start, and records the difference. Of two processes with
 * other settings each start records its own.
 */
export async function recordGrants(database: Database, settings: Grants): Promise<void> {
  const now = grantsOf(settings);
  await inTransaction(database, async (transaction) => {
    await transaction.query("LOCK TABLE audit_grants IN SHARE ROW EXCLUSIVE MODE");
    const { rows } = await transaction.query<Omit<Grant, "roles">>("SELECT * FROM audit_grants");
    const records = diffGrants(rows, now);
    if (records.length === 0) return;
    await transaction.query("DELETE FROM audit_grants");
    await transaction.query(insertGrants, [
      now.map(({ kind }) => kind),
      now.map(({ name }) => name),
      now.map(({ digest }) => digest),
    ]);
    await recordAudit(transaction, records);
  });
}

const insertGrants = `
  INSERT INTO audit_grants (kind, name, digest)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])`;

function grantsOf({ operators, ci_trust }: Grants): Grant[] {
  const people = Object.entries(operators).map(([name, row]) => {
    return { kind: "operator" as const, name, digest: digestOf(row), roles: row.roles };
  });
  const jobs = ci_trust.map((row) => {
    return { kind: "ci_trust" as const, name: row.name, digest: digestOf(row), roles: row.roles };
  });
  return [...people, ...jobs];
}

function digestOf(row: object): Buffer {
  return createHash("sha256")
    .update(JSON.stringify(Object.entries(row).toSorted()))
    .digest();
}

/** Pure. Names who came, changed and left; of a token nothing is recorded. */
function diffGrants(before: readonly Omit<Grant, "roles">[], now: readonly Grant[]): AuditRecord[] {
  const isSame = (a: Pick<Grant, "kind" | "name">) => (b: typeof a) =>
    a.kind === b.kind && a.name === b.name;
  const came = now.flatMap((grant) => {
    const known = before.find(isSame(grant));
    if (known?.digest.equals(grant.digest) === true) return [];
    return toGrantRecord(known === undefined ? "add" : "change", grant, { roles: grant.roles });
  });
  const left = before.filter((grant) => !now.some(isSame(grant)));
  return [...came, ...left.map((grant) => toGrantRecord("remove", grant))];
}

const verbs = { add: "Let in", change: "Changed what is granted to", remove: "Let in no more" };

function toGrantRecord(
  verb: keyof typeof verbs,
  { kind, name }: Pick<Grant, "kind" | "name">,
  meta?: Record<string, unknown>,
): AuditRecord {
  const who = kind === "operator" ? `operator ${name}` : `CI jobs ${name}`;
  return {
    event: `${kind}.${verb}`,
    description: `${verbs[verb]}, by the settings: ${who}`,
    actor: { type: "system", id: "start" },
    targets: [{ type: kind, id: name }],
    meta,
  };
}
