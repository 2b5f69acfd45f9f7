/** Embedded servers that hang do not block the program's stop. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isAlive, type ProcessIdentity, signalProcess } from "#kernel/process.ts";
import { startProgram } from "../../support/program/program.ts";

const servers = ["restate", "postgres", "analytics"];

it("stops although all of its servers hang, and leaves none of them running", async () => {
  const program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "0",
    VEDETTE_ANALYTICS__ENABLED: "true",
  });
  onTestFinished(program.dispose);
  await program.askAnalytics();
  const identities = servers.map((server) => {
    const file = path.join(program.dataDir, `${server}.pid.json`);
    return JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
  });
  for (const identity of identities) signalProcess(identity, "SIGSTOP");

  expect(await program.stop()).toBe(0);

  expect(identities.filter(isAlive)).toEqual([]);
});
