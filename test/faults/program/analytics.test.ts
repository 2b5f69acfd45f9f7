/** Events from the call that causes them to the query that counts them, with kills in between. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let key: string;

beforeAll(async () => {
  program = await startProgram({ VEDETTE_ANALYTICS__ENABLED: "true" });
  const { data } = await call("apis.createApi", { name: "shop" });
  const created = await call("keys.createKey", { apiId: data.apiId });
  key = created.data.key;
});

afterAll(() => program?.dispose());

// biome-ignore lint/suspicious/noExplicitAny: answers of several procedures
async function call(procedure: string, body: unknown): Promise<any> {
  const file = path.join(program.dataDir, "credentials.json");
  const rootKey = JSON.parse(readFileSync(file, "utf8")).root_key as string;
  const answer = await fetch(`${program.endpoints().api}/v2/${procedure}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${rootKey}` },
    body: JSON.stringify(body),
  });
  return answer.json();
}

async function verify(times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await call("keys.verifyKey", { key });
}

async function counted(): Promise<number> {
  const query = "SELECT count() AS n FROM key_verifications_v1";
  const { data } = await call("analytics.getVerifications", { query });
  return data?.[0]?.n;
}

const untilCounted = (expected: number) =>
  waitFor(async () => (await counted()) === expected, {
    withinMs: 30_000,
    what: `${expected} verifications counted`,
  });

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${program.endpoints().metrics}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
}

const untilOnDisk = () =>
  waitFor(async () => (await metric('vedette_analytics_waiting_events{place="memory"}')) === 0, {
    withinMs: 10_000,
    what: "events to be on disk",
  });

const enginePid = () => {
  const file = path.join(program.dataDir, "analytics.pid.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
};

describe("recorded verifications", () => {
  it("are counted by a query a moment later", async () => {
    await verify(5);

    await untilCounted(5);
  });

  it("are counted once each after a kill -9 of the store", async () => {
    process.kill(enginePid(), "SIGKILL");
    await verify(10);

    await untilCounted(15);
    expect(await metric('vedette_analytics_events_total{result="dropped"}')).toBe(0);
  });

  it("are counted once each after a kill -9 of the program and the store", async () => {
    process.kill(enginePid(), "SIGKILL");
    await verify(10);
    await untilOnDisk();
    program.kill9("main");

    await program.start();

    // With no query, and no further row.
    await waitFor(
      async () => (await metric('vedette_analytics_events_total{result="stored"}')) > 0,
      {
        withinMs: 30_000,
        what: "the rows of the killed run to be stored",
      },
    );
    await untilCounted(25);
  });

  it("that were answered are all counted after a kill -9 of the program during the calls", async () => {
    const callers = 8;
    let answered = 0;
    const verifyOn = async () => {
      for (;;) {
        await call("keys.verifyKey", { key });
        answered += 1;
      }
    };
    const calling = Promise.allSettled(Array.from({ length: callers }, verifyOn));
    await waitFor(() => answered >= 300, { withinMs: 20_000, what: "300 answers" });
    program.kill9("main");
    await calling;

    await program.start();

    const isAll = async () => (await counted()) >= 25 + answered;
    await waitFor(isAll, { withinMs: 30_000, what: `${25 + answered} verifications counted` });
    // Recorded, but not answered before the kill.
    expect(await counted()).toBeLessThanOrEqual(25 + answered + callers);
  });
});
