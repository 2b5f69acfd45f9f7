/** What a running program writes to the audit log, read by the command line. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SealedRow } from "#audit/chain.ts";
import { exportRows } from "#audit/log.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
let program: Program;
const hash = (digit: string) => digit.repeat(64);
const operators = (setting: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(setting).map(([name, digit]) => [
      `VEDETTE_CONTROL__OPERATORS__${name.toUpperCase()}`,
      hash(digit),
    ]),
  );

beforeAll(async () => {
  program = await startProgram(operators({ ada: "a", ben: "b" }));
});

afterAll(() => program?.dispose());

const run = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

async function rows(): Promise<SealedRow[]> {
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  const found: SealedRow[] = [];
  try {
    const order = { follow: false, signal: AbortSignal.timeout(60_000), onAway: () => {} };
    for await (const row of exportRows(database, order)) found.push(row);
    return found;
  } finally {
    await database.end();
  }
}

/** Waits for a row with this event, and returns the newest. */
async function rowOf(event: string, target?: string): Promise<SealedRow> {
  let found: SealedRow | undefined;
  await waitFor(
    async () => {
      const isIt = (row: SealedRow) =>
        row.event === event &&
        (target === undefined || JSON.stringify(row.targets).includes(`"${target}"`));
      found = (await rows()).findLast(isIt);
      return found !== undefined;
    },
    { withinMs: 60_000, what: `a row of ${event}` },
  );
  return found as SealedRow;
}

const v1 = (path: string, body: object) => program.post(`vedette.v1.${path}`, body);
const by = { type: "operator", id: "ingress-token" };

describe("the audit log has", () => {
  it("whom the settings let in, added, changed and removed", async () => {
    expect((await rowOf("operator.add", "ada")).actor).toEqual({ type: "system", id: "start" });
    await rowOf("operator.add", "ben");

    await program.stop();
    await program.start({
      ...operators({ ada: "c", cleo: "d" }),
      VEDETTE_CONTROL__OPERATORS__BEN: undefined,
    });

    await rowOf("operator.change", "ada");
    await rowOf("operator.add", "cleo");
    await rowOf("operator.remove", "ben");
    expect(JSON.stringify(await rows())).not.toContain(hash("a"));
  });

  it("the definitions that a start applies", async () => {
    expect(await rowOf("definitions.apply")).toMatchObject({
      actor: { type: "system", id: "start" },
    });
  });

  it("a call with who made it and from where, and the change itself", async () => {
    const window = {
      id: "xmas",
      kind: "freeze",
      reason: "holidays",
      starts: "2030-12-24T00:00:00Z",
    };
    await v1("RolloutWindows/Add", { ...window, ends: "2030-12-26T00:00:00Z" });
    await v1("RolloutWindows/Remove", { id: "xmas", reason: "over" });

    const call = await rowOf("call", "vedette.v1.RolloutWindows/Add");
    expect(call).toMatchObject({ actor: by, remote_ip: "127.0.0.1" });
    expect(await rowOf("window.add", "xmas")).toMatchObject({ actor: by });
    expect(await rowOf("window.remove", "xmas")).toMatchObject({ actor: by });
    expect((await rowOf("window.add", "xmas")).cursor).toBeGreaterThan(call.cursor);
  });

  it("runners that are added and removed, without a token", async () => {
    await v1("MonitorRunners/Add", { location: "fra", token_hash: hash("e") });
    await v1("MonitorRunners/Remove", { location: "fra" });

    expect(await rowOf("runner.add", "fra")).toMatchObject({ actor: by });
    expect(await rowOf("runner.remove", "fra")).toMatchObject({ actor: by });
    expect(JSON.stringify(await rows())).not.toContain(hash("e"));
  });

  it("a rollout that is started, waits, is paused and cancelled", async () => {
    const image = "vedette/sentinel:v2";
    const sent = await v1("SentinelRolloutService/singleton/Rollout/send", {
      ...{ image, wave_percentages: [100], not_before: "2099-01-01T00:00:00Z" },
    });
    const started = await rowOf("rollout.started");
    await rowOf("rollout.waiting");
    await v1("SentinelRolloutService/singleton/Pause", {});
    await rowOf("rollout.paused");
    await v1("SentinelRolloutService/singleton/Cancel", {});

    expect(sent.status).toBe(202);
    expect(started).toMatchObject({ actor: by });
    expect(started.description).toContain(image);
    expect(await rowOf("rollout.cancelled")).toMatchObject({ actor: by });
  });

  it("sign-ins, and of those that are refused only a few", async () => {
    const { control } = program.endpoints();
    const signIn = (token: string) =>
      fetch(`${control}/console/api/session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: control },
        body: JSON.stringify({ token }),
      });
    await signIn(program.token());
    for (let i = 0; i < 12; i += 1) await signIn(`wrong-${i}`);

    expect(await rowOf("session.start")).toMatchObject({ actor: by, remote_ip: "127.0.0.1" });
    const refused = (await rows()).filter(({ event }) => event === "session.refused");
    expect(refused).toHaveLength(6);
    expect(refused.at(-1)?.description).toContain("further refusals");
    expect(JSON.stringify(refused)).not.toContain("wrong-");
  });

  it("an unbroken chain, which verify confirms and a change breaks", async () => {
    const intact = await run("audit", "verify");
    const head = /head: (\S+)/.exec(intact.stdout)?.[1] ?? "";
    const sameHead = await run("audit", "verify", "--head", head);

    expect(intact.stdout).toMatch(/^intact: \d+ rows\n/);
    expect([intact.code, sameHead.code]).toEqual([0, 0]);
  });
});
