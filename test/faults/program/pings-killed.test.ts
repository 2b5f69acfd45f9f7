/** Pings that are answered are kept, whatever is killed while more of them come. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { type Part, type Program, startProgram } from "../../support/program/program.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const ids = Array.from({ length: 100 }, (_, i) => `job-${i}`);
const tokenOf = (id: string) => createHash("sha256").update(`token of ${id}`).digest("base64url");
const log = createLog({ level: "silent", format: "json" });

type Row = { id: string; lastPingAtMs: number; isWatched: boolean; results: number };

async function readRows(program: Program): Promise<Map<string, Row>> {
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  try {
    const { rows } = await database.query(`
      SELECT h.id, h.last_ping_at, h.is_watched,
        (SELECT count(*)::int FROM check_results r WHERE r.check_id = h.id) AS results
      FROM heartbeats h`);
    return new Map(
      rows.map(({ id, last_ping_at, is_watched: isWatched, results }) => {
        return [id, { id, lastPingAtMs: last_ping_at?.getTime() ?? 0, isWatched, results }];
      }),
    );
  } finally {
    await database.end();
  }
}

/** Postgres may still be on its way back. */
const untilRead = (program: Program) =>
  waitFor(() => readRows(program), { withinMs: 60_000, what: "the rows of the heartbeats" });

const ping = (program: Program, id: string) =>
  fetch(`${program.endpoints().control}/${tokenOf(id)}`);

/** The whole program with heartbeats that are all ok. */
async function startWithHeartbeats(): Promise<Program> {
  const file = path.join(tempDir(), "vedette.config.json");
  const heartbeats = ids.map((id) => ({ id, periodSeconds: 86_400, graceSeconds: 60 }));
  writeFileSync(file, JSON.stringify({ heartbeats }));
  const program = await startProgram({ VEDETTE_DEFINITIONS__FILE: file });
  onTestFinished(program.dispose);
  for (const id of ids) {
    const token_hash = createHash("sha256").update(tokenOf(id)).digest("hex");
    await program.post(`vedette.v1.Heartbeat/${id}/Register`, { token_hash });
  }
  await Promise.all(ids.map((id) => ping(program, id)));
  const isWell = async () => {
    const rows = [...(await readRows(program)).values()];
    return rows.every(({ isWatched, results }) => !isWatched && results === 1);
  };
  await waitFor(isWell, { withinMs: 20_000, what: "all heartbeats to be ok" });
  return program;
}

/** Pings all jobs again and again until `stop` or a ping that is not answered, each when its last one was. */
function keepPingingAll(program: Program) {
  const answered = new Map<string, number[]>(ids.map((id) => [id, []]));
  const counts = { answered: 0, open: 0 };
  let isOver = false;
  const keepPinging = async (id: string) => {
    while (!isOver) {
      const sentMs = Date.now();
      counts.open += 1;
      const answer = await ping(program, id).finally(() => {
        counts.open -= 1;
      });
      if (!answer.ok) throw new Error(`answered ${answer.status}`);
      answered.get(id)?.push(sentMs);
      counts.answered += 1;
    }
  };
  const ended = Promise.allSettled(ids.map(keepPinging));
  const stop = async () => {
    isOver = true;
    await ended;
  };
  return { answered, counts, stop };
}

it.each<[string, readonly Part[]]>([
  ["the process that takes them", ["main"]],
  ["what keeps them", ["postgres"]],
  // Postgres first: until its own end the process may answer what is not written.
  ["everything", ["postgres", "main", "restate"]],
])("a burst of pings loses none that was answered when %s is killed", async (_, parts) => {
  const program = await startWithHeartbeats();
  const burst = keepPingingAll(program);
  await waitFor(() => burst.counts.answered >= 500, { withinMs: 20_000, what: "500 answers" });

  const openAtKill = burst.counts.open;
  for (const part of parts) program.kill9(part);
  await burst.stop();
  if (parts.includes("main")) await program.start();

  const rows = await untilRead(program);
  const lost = ids.filter((id) => {
    const sentMs = burst.answered.get(id) ?? [];
    const row = rows.get(id);
    // The first result is of the ping before the burst.
    const isThere = (row?.results ?? 0) - 1 >= sentMs.length;
    return !(isThere && (row?.lastPingAtMs ?? 0) >= Math.max(0, ...sentMs));
  });
  expect(lost).toEqual([]);
  expect(openAtKill).toBeGreaterThan(50);
});
