/** Definitions that are applied while parts of the program are killed. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { AlertRoute, AlertSource } from "#routing/contract.ts";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

/** What is killed, and how long after the call: an apply of these rows takes some 200 ms. */
const kills = killings([5, 30, 60, 100, 150, 220]);

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** 200 checks, 50 heartbeats, 30 routes. Half of the checks are others each time, and half have another name. */
function rowsOf(round: number) {
  const { api } = program.endpoints();
  const checks = range(200).map((i) =>
    CheckRow.parse({
      id: i < 100 ? `check-${i}` : `check-${round % 2}-${i}`,
      name: `Check ${i} of ${round}`,
      url: `${api}/v2/liveness`,
      frequencySeconds: 86_400,
    }),
  );
  const heartbeats = range(50).map((i) =>
    HeartbeatRow.parse({
      id: `job-${round % 2}-${i}`,
      periodSeconds: 60 + round,
      graceSeconds: 60,
    }),
  );
  const source = AlertSource.parse({
    name: "probes",
    title: "Probes",
    kind: "http",
    environment: "production",
    labels: {},
  });
  const routes = range(30).map((i) =>
    AlertRoute.parse({
      name: `Route ${i}`,
      sources: [{ source: "probes", conditions: [] }],
      escalation: null,
      channel: `#alerts-${round}`,
    }),
  );
  return { ...emptySet, checks, heartbeats, sources: [source], routes };
}

const definitions = (handler: string, body: object = {}) =>
  program.post(`vedette.v1.Definitions/singleton/${handler}`, body);

/** The answer may be lost: what counts is what is in force in the end. */
const applyHopefully = (round: number) =>
  definitions("Apply", { definitions: rowsOf(round), prune: true }).catch(() => undefined);

/** As an operator does after an error. */
async function applyUntilDone(round: number): Promise<void> {
  await waitFor(async () => (await applyHopefully(round))?.status === 200, {
    withinMs: 90_000,
    what: "the definitions to be applied",
  });
}

type View = { id: string; name: string; status: string };

async function listChecks(): Promise<View[]> {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return (body["checks"] ?? []) as View[];
}

/** The object of a check answers by the row that it holds. */
async function namesHeld(ids: readonly string[]): Promise<number[]> {
  const answers = await Promise.all(
    ids.map((id) => program.post(`vedette.v1.ApiCheck/${id}/Unmute`)),
  );
  return answers.map(({ status }) => status);
}

it.each(kills.map(([parts, ms], i) => ({ parts, ms, round: i + 1 })))(
  "every check knows its row after $parts were killed $ms ms into an apply",
  async ({ parts, ms, round }) => {
    const first = applyHopefully(round);
    await delay(ms);
    await killAndRestart(program, parts);
    await first;
    await applyUntilDone(round);

    const { checks, heartbeats } = rowsOf(round);
    const wanted = [...checks, ...heartbeats].map(({ id, name }) => `${id} ${name}`).sort();
    await waitFor(
      async () => {
        const listed = (await listChecks()).map(({ id, name }) => `${id} ${name}`).sort();
        return JSON.stringify(listed) === JSON.stringify(wanted);
      },
      { withinMs: 20_000, what: "the checks to be those that were applied" },
    );
    const there = [`check-0`, `check-${round % 2}-150`];
    const gone = [`check-${(round + 1) % 2}-150`];
    await waitFor(
      async () =>
        (await namesHeld(there)).every((status) => status === 200) &&
        (await namesHeld(gone)).every((status) => status === 404),
      { withinMs: 30_000, what: "the objects to hold their rows" },
    );
    expect((await definitions("Plan", { definitions: rowsOf(round) })).body["changes"]).toEqual([]);
  },
  180_000,
);
