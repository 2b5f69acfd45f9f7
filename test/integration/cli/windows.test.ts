/** `vedette windows`, and a rollout that waits, before the whole program. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { formatUtc } from "#kernel/time.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let version = 1;

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const run = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

const add = (id: string, ...options: string[]) =>
  run("windows", "add", id, "--reason", "the shop is busy", ...options);

const remove = (id: string) => run("windows", "remove", id, "--reason", "it is over");

const officeHours = [
  ...["--kind", "allowed", "--time-zone", "Europe/Berlin", "--days", "mon, tue"],
  ...["--from", "09:00", "--to", "16:00"],
];

describe("vedette windows", () => {
  it("says that there are none", async () => {
    const { stdout } = await run("windows", "list");

    expect(stdout).toBe("There are no windows: waves start at any time.\nA wave may start now.\n");
  });

  it("adds, lists and removes them", async () => {
    const added = await add("office", ...officeHours);
    await add("year-end", "--kind", "freeze");
    const { stdout } = await run("windows", "list");
    const { windows, now } = JSON.parse((await run("windows", "list", "--json")).stdout);
    const removed = [await remove("office"), await remove("year-end")];

    expect(added).toMatchObject({
      code: 0,
      stdout: "The window office is added: mon, tue 09:00 to 16:00 Europe/Berlin.\n",
    });
    expect(stdout).toMatch(/office.*mon, tue 09:00 to 16:00 Europe\/Berlin.*the shop is busy/);
    expect(stdout).toMatch(/year-end.*until it is removed/);
    expect(stdout).toContain(
      "No wave may start now, since the freeze year-end is in force: the shop is busy. None may start within a year.\n",
    );
    expect(windows).toMatchObject([{ id: "office" }, { id: "year-end", kind: "freeze" }]);
    expect(now.is_open).toBe(false);
    expect(removed.map(({ stdout: said }) => said)).toEqual([
      "The window office is removed.\n",
      "The window year-end is removed.\n",
    ]);
  });

  it.each([
    [["--kind", "allowed"], "--days: an allowed window says when"],
    [["--kind", "freeze", "--time-zone", "Mars/Olympus"], "--time-zone: must be an IANA time zone"],
    [["--kind", "freeze", "--from", "9"], "--from: must be a time of day such as 09:30"],
    [["--kind", "freeze", "--days", "monday"], "--days: expected one of"],
    [["--kind", "freeze", "--ends", "tomorrow"], "--ends: must be a time with its offset"],
  ])("refuses %j, and names the option", async (options, problem) => {
    const { code, stderr } = await add("bad", ...options);

    expect(code).toBe(1);
    expect(stderr).toContain(`vedette: ${problem}`);
  });

  it("says in one line that there is no such window", async () => {
    const { code, stderr } = await remove("none");

    expect(code).toBe(1);
    expect(stderr).toBe("vedette: there is no window none; vedette windows list shows them\n");
  });
});

describe("a rollout in a freeze", () => {
  afterEach(async () => {
    await remove("hour");
    await run("rollout", "cancel");
  });

  it("says until when it waits, in its plan too, and starts when it is skipped", async () => {
    const image = `registry.example.com/vedette/sentinel:v${++version}`;
    const ends = new Date(Date.now() + 3_600_000).toISOString();
    await add("hour", "--kind", "freeze", "--ends", ends);
    const plan = await run("rollout", "plan", image, "--waves", "100");
    const waiting = run("rollout", "start", image, "--waves", "100", "--wait");
    const status = await waitFor(
      async () => {
        const { stdout } = await run("rollout", "status");
        return stdout.includes("waits for  the window") && stdout;
      },
      { withinMs: 30_000, what: "the rollout to wait" },
    );

    const skipped = await run("rollout", "skip", "--reason", "incident 4711");

    expect(plan.stdout).toContain(formatUtc(ends));
    expect(status).toContain(`waits for  the window, until ${formatUtc(ends)}`);
    expect(status).toContain("waits, since the freeze hour is in force: the shop is busy");
    expect(skipped.code).toBe(0);
    expect((await waiting).code).toBe(0);
  });
});
