/** `vedette pins`, and the choice of sentinels by options, before the whole program. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";

const image = "registry.example.com/vedette/sentinel:v2";

let program: Program;

beforeAll(async () => {
  program = await startProgram({ VEDETTE_FLEET__PROCESS__SIZE: "4" });
});

afterAll(() => program?.dispose());

const run = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

const add = (id: string, ...options: string[]) =>
  run("pins", "add", id, "--reason", "a leak is looked at", ...options);

const remove = (id: string) => run("pins", "remove", id, "--reason", "it is found");

describe("vedette pins", () => {
  it("says that there are none", async () => {
    expect((await run("pins", "list")).stdout).toBe(
      "There are no pins: rollouts leave no sentinel out.\n",
    );
  });

  it("adds, lists and removes them", async () => {
    const ends = "2099-01-01T00:00:00Z";
    const added = await add("leak", "--ids", "sentinel-02,sentinel-03", "--ends", ends);
    await add("old", "--regions", "eu-central-1", "--labels", "kernel=5, tier=stable");
    const { stdout } = await run("pins", "list");
    const { pins } = JSON.parse((await run("pins", "list", "--json")).stdout);
    const removed = [await remove("leak"), await remove("old")];

    expect(added).toMatchObject({
      code: 0,
      stdout: `The pin leak is added: sentinel-02, sentinel-03, until 2099-01-01 00:00:00 UTC.\n`,
    });
    expect(stdout).toMatch(/leak.*sentinel-02, sentinel-03.*until 2099.*a leak is looked at/);
    expect(stdout).toMatch(/old.*in eu-central-1; kernel=5, tier=stable.*until it is removed/);
    expect(pins).toMatchObject([
      { id: "leak", ids: ["sentinel-02", "sentinel-03"] },
      { id: "old", regions: ["eu-central-1"], labels: { kernel: "5", tier: "stable" } },
    ]);
    expect(removed.map(({ stdout: said }) => said)).toEqual([
      "The pin leak is removed.\n",
      "The pin old is removed.\n",
    ]);
  });

  it.each([
    [[], "a pin needs --ids, --regions or --labels"],
    [["--ids", "a,,b"], "must be a list such as a,b"],
    [["--ids", "a,a"], "ids: must name each once"],
    [["--labels", "canary"], "For example: tier=canary"],
    [["--labels", "a b=c"], "must be a label's name: letters, digits, dots, dashes and slashes"],
    [["--labels", "a=1,a=2"], "For example: tier=canary"],
    [["--ids", "a", "--ends", "tomorrow"], "must be a time with its offset"],
  ])("refuses %j, and says why", async (options, problem) => {
    const { code, stderr } = await add("bad", ...options);

    expect(code).toBe(1);
    expect(stderr).toContain(problem);
  });

  it("says in one line that there is no such pin", async () => {
    expect(await remove("none")).toMatchObject({
      code: 1,
      stderr: "vedette: there is no pin none; vedette pins list shows them\n",
    });
  });
});

describe("vedette rollout with a choice", () => {
  it("plans canaries first and says what is left out, and does so", async () => {
    const choice = ["--canary", "tier=canary", "--exclude-ids", "sentinel-03", "--waves", "30,100"];
    await add("leak", "--ids", "sentinel-02");
    const plan = await run("rollout", "plan", image, ...choice);
    const { waves } = JSON.parse((await run("rollout", "plan", image, ...choice, "--json")).stdout);
    const started = await run("rollout", "start", image, ...choice, "--wait");
    const status = await run("rollout", "status");
    await remove("leak");

    expect(plan.stdout).toContain("Left out: 2\n");
    expect(plan.stdout).toContain("  sentinel-02: pin leak, a leak is looked at\n");
    expect(plan.stdout).toContain("  sentinel-03: excluded, by its id\n");
    expect(waves[0].sentinels).toEqual(["sentinel-01"]);
    expect(started.code).toBe(0);
    expect(status.stdout).toContain("left out   2 by pins and the request");
    expect(status.stdout).toContain("2 of 2 on the image");
  });
});
