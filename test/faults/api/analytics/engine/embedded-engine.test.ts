import { expect, it, onTestFinished } from "vitest";
import { startEmbeddedEngine } from "#api/analytics/engine/embedded-engine.ts";
import type { EngineAddress } from "#api/analytics/engine/engine-client.ts";
import { createLog } from "#kernel/log.ts";
import { makeTempDir } from "../../../../support/temp-dir.ts";
import { waitFor } from "../../../../support/wait-for.ts";

/** One call of a function that goes through hundreds of megabytes again and again: no limit looks into it. */
const endless =
  "SELECT arrayExists(x -> position(repeat(repeat('abcdefghij', 1000000), 10), concat('zz', toString(x))) > 0, range(100000))";

async function start() {
  const dir = makeTempDir();
  const addresses: EngineAddress[] = [];
  const engine = startEmbeddedEngine({
    dataDir: dir.path,
    log: createLog({ level: "silent", format: "json" }),
    onReady: (address) => addresses.push(address),
    onAway: () => {},
    onAbsent: () => {},
  });
  onTestFinished(async () => {
    await engine.stop();
    dir.remove();
  });
  const ready = (count: number) =>
    waitFor(() => addresses[count - 1], { withinMs: 60_000, what: `start ${count} of the engine` });
  return { engine, ready };
}

function ask({ url, password }: EngineAddress, sql: string): Promise<Response> {
  return fetch(`${url}/?readonly=1&max_execution_time=1`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`default:${password}`)}` },
    body: sql,
  });
}

it("ends with a query that nothing else ends, and serves again", async () => {
  const { ready } = await start();
  const stuck = ask(await ready(1), endless);

  await expect(stuck).rejects.toThrow();
  const answer = await ask(await ready(2), "SELECT 1");

  expect(await answer.text()).toBe("1\n");
});

it("stops within seconds, whatever it is at", async () => {
  const { engine, ready } = await start();
  const stuck = ask(await ready(1), endless).catch(() => "cut off");
  const pid = engine.pid();
  await waitFor(async () => (await ask(await ready(1), "SELECT 1")).ok, {
    withinMs: 10_000,
    what: "an answer beside the query that is stuck",
  });

  await engine.stop();

  expect(await stuck).toBe("cut off");
  expect(() => process.kill(pid as number, 0)).toThrow("ESRCH");
});
