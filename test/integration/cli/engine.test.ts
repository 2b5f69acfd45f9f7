/** `vedette upgrade` and `vedette engine` over a running program and its Restate. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram({});
});

afterAll(() => program?.stop());

const run = (...words: string[]) => runVedette(words, { VEDETTE_DATA_DIR: program.dataDir });

it("the version that runs serves every service", async () => {
  const { code, stdout } = await run("upgrade", "status", "--json");

  const { versions } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(versions).toEqual([expect.objectContaining({ unreachable: 0 })]);
  expect(versions[0].serves).toBeGreaterThan(20);
});

it("the version that serves is not drained, since it takes new calls", async () => {
  const { versions } = JSON.parse((await run("upgrade", "status", "--json")).stdout);

  const drained = await run("upgrade", "drain", versions[0].revision);

  expect(drained).toMatchObject({ code: 1 });
  expect(drained.stderr).toContain("a version drains once a later one is started");
});

it("nothing is in trouble at rest, and an unknown invocation is not retried", async () => {
  expect(await run("engine")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/retries nothing/),
  });

  const retried = await run("engine", "retry", "inv_1unknown");

  expect(retried).toMatchObject({ code: 1 });
  expect(retried.stderr).toContain("none of those that");
});

it.each(["adopt", "drain"])(
  "%s of a revision that Restate does not know is an error",
  async (verb) => {
    const refused = await run("upgrade", verb, "0000");

    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain("no version with the revision 0000");
  },
);
