/** Kills while the program asks whether an image has passed CI. */
import { describe, expect, it, onTestFinished } from "vitest";
import { RolloutHistory } from "#rollout/contract.ts";
import { startGate } from "../../support/ci/gate.ts";
import { startProgram } from "../../support/program/program.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { waitFor } from "../../support/wait-for.ts";

const isInstalled = hasPrograms("docker-registry");

/** A program that was killed while it asked, and goes on: the commit's check has ended meanwhile. */
async function killWhileItAsks(conclusion: "success" | "failure") {
  const gate = await startGate();
  const program = await startProgram({
    ...gate.environment,
    VEDETTE_ROLLOUT__REQUIRE_CI: "commit",
  });
  onTestFinished(() => program.dispose());
  const { image } = await gate.push("v2");
  gate.hold("v2");
  await program.call("Rollout/send", { image });
  const asked = (count: number) =>
    waitFor(() => gate.github.requests.length >= count, {
      withinMs: 60_000,
      what: "the questions about the commit",
    });
  await asked(1);
  program.kill9("main");
  gate.report("v2", conclusion);
  const before = gate.github.requests.length;
  await program.start();
  await asked(before + 2);
  const history = async () => RolloutHistory.parse((await program.call("History")).body).rollouts;
  return { gate, program, history };
}

describe.skipIf(!isInstalled)("a program that is killed while it asks about CI", () => {
  it("asks again, and rolls out once", async () => {
    const { history } = await killWhileItAsks("success");

    await waitFor(async () => (await history())[0]?.state === "completed", {
      withinMs: 60_000,
      what: "the end of the rollout",
    });

    const rollouts = await history();
    expect(rollouts).toHaveLength(1);
    expect(rollouts[0]?.ci).toMatchObject([{ kind: "commit", result: "passed" }]);
  });

  it("asks again, and starts nothing that has failed", async () => {
    const { gate, program, history } = await killWhileItAsks("failure");
    const next = await gate.push("v3");
    gate.report("v3", "success");

    const { body } = await program.call("Rollout", { image: next.image });

    expect(body).toMatchObject({ state: "completed", image: `${next.image}@${next.digest}` });
    const what = "history to have the rollout";
    await waitFor(async () => (await history()).length > 0, { withinMs: 10_000, what });
    expect((await history()).map(({ image }) => image)).toEqual([`${next.image}@${next.digest}`]);
  });
});
