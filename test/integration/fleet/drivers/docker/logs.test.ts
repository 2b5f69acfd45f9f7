/** Logs of containers: on an engine, and from one that answers as it likes. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { Driver } from "#fleet/drivers/driver.ts";
import { canRunEngines } from "../../../../support/docker/engine.ts";
import {
  buildDockerHost,
  createTestDriver,
  startDockerFleet,
} from "../../../../support/docker/fleet.ts";
import {
  answerJson,
  type EngineScript,
  startScriptedEngine,
} from "../../../../support/docker/scripted-engine.ts";
import { waitFor } from "../../../../support/wait-for.ts";

function frame(text: string): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

const read = (driver: Driver, limitMs = 5_000) =>
  driver.readLog?.({ sentinelId: "one/gw" }, { lines: 3, signal: AbortSignal.timeout(limitMs) });

/** A fleet whose only container has the log that this answers. */
async function startWith(answerLog: (answer: ServerResponse) => void) {
  const asked: string[] = [];
  const script: EngineScript = ({ path }, answer) => {
    if (!path.startsWith("/containers/c1/logs")) return false;
    asked.push(path);
    answerLog(answer);
    return true;
  };
  const { url } = await startScriptedEngine(script);
  return { driver: createTestDriver({ hosts: [buildDockerHost({ url })] }), asked };
}

describe("the log of a container", () => {
  it("is what its engine answers for as many lines as are wanted, out of its frames", async () => {
    const { driver, asked } = await startWith((answer) =>
      answer.end(Buffer.concat([frame("a\n"), frame("b\n")])),
    );

    expect(await read(driver)).toEqual({ text: "a\nb\n" });
    expect(asked).toEqual(["/containers/c1/logs?stdout=1&stderr=1&tail=3"]);
  });

  it("is what came in time when it drips without an end", async () => {
    const { driver } = await startWith((answer) => {
      const drip = setInterval(() => answer.write(frame("drip\n")), 20);
      answer.once("close", () => clearInterval(drip));
    });

    const beganMs = performance.now();
    const tail = await read(driver, 500);

    expect(tail).toEqual({ text: expect.stringMatching(/^(drip\n){2,}/) });
    expect(performance.now() - beganMs).toBeLessThan(2_000);
  });

  it("is that of fewer lines when the end of as many as are wanted is out of reach", async () => {
    const long = frame(`${"x".repeat(2_000_000)}\n`);
    const { driver, asked } = await startWith((answer) => {
      const isOne = asked.at(-1)?.endsWith("tail=1");
      answer.end(Buffer.concat(isOne ? [frame("last\n")] : [long, long, long, frame("last\n")]));
    });

    expect(await read(driver)).toEqual({ text: "last\n" });
    expect(asked).toHaveLength(2);
  });

  it("is read up to a limit when it is endless", async () => {
    let sent = 0;
    const { driver } = await startWith((answer) => {
      const flood = () => {
        while (!answer.destroyed && answer.write(frame("x".repeat(65_536)))) sent += 65_536;
        if (!answer.destroyed) answer.once("drain", flood);
      };
      flood();
    });

    const tail = await read(driver);

    expect(tail).toEqual({
      text: "x".repeat(65_536),
      note: expect.stringMatching(/^the end of the log was not reached/),
    });
    expect(sent).toBeLessThan(32 * 1_048_576);
  });

  it.each([
    [404, { message: "No such container: c1" }, /not there any more/],
    [501, { message: "configured logging driver does not support reading" }, /does not support/],
    [403, "<html>denied</html>", /containers\/\*\/logs is not let through/],
  ])("is absent after %i", async (status, body, words) => {
    const { driver } = await startWith((answer) => answerJson(answer, status, body));

    expect(await read(driver)).toEqual({ absent: expect.stringMatching(words) });
  });
});

describe.skipIf(!canRunEngines())("on an engine", () => {
  it("is that of the container that has failed, and that of the one that runs", async () => {
    const { engine, images } = await startDockerFleet(["v1-chatty", "v2-crash"]);
    await engine.run("gw-1", { image: images("v1-chatty") });
    const driver = createTestDriver({ hosts: [buildDockerHost({ url: engine.url })] });
    const order = { sentinelId: "one/gw-1", image: images("v2-crash"), deployId: "d1" };
    await driver.apply(order);
    await waitFor(async () => (await driver.observe(order)).status === "failed", {
      withinMs: 20_000,
      what: "the deploy to fail",
    });

    const call = { lines: 100, signal: AbortSignal.timeout(5_000) };
    const failed = await driver.readLog?.(order, call);
    const running = await driver.readLog?.({ sentinelId: "one/gw-1" }, call);
    const other = await driver.readLog?.({ sentinelId: "one/gw-1", deployId: "d0" }, call);

    // Of its two outputs, whose order is the engine's.
    expect(failed).toEqual({ text: expect.stringContaining("reading settings\n") });
    expect(failed).toEqual({ text: expect.stringContaining("no database") });
    // It may have stepped aside, and come back.
    expect(running).toEqual({ text: expect.stringMatching(/^(listening\n)+$/) });
    expect(other).toEqual({ absent: "there is no container of it" });
  });
});
