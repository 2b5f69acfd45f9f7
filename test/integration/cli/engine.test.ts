/** `vedette upgrade` and `vedette engine` over a running program and its Restate. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

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

it("a paused invocation is wrong with the status until it is retried", async () => {
  const singleton = "vedette.v1.SentinelRolloutService/singleton";
  const image = "registry.example.com/vedette/sentinel:v2";
  await program.post(`${singleton}/Rollout/send`, { image, soak_seconds: 600 });
  const id = await waitFor(pauseRunner, { withinMs: 20_000, what: "a run to pause" });

  const status = await run("status");
  const retried = await run("engine", "retry", id);
  const isCalm = async () => (await run("status")).code === 0;
  await waitFor(isCalm, { withinMs: 20_000, what: "nothing to be wrong" });
  await program.post(`${singleton}/Cancel`, { reason: "the test is over" });

  expect(status).toMatchObject({
    code: 2,
    stdout: expect.stringContaining(
      "1 invocation does not progress: vedette.v1.RolloutRunner/run: it is paused\n    npx vedette engine",
    ),
  });
  expect(retried.code).toBe(0);
});

/** Returns the id of the rollout's run, once Restate has paused it. */
async function pauseRunner(): Promise<string | undefined> {
  const { rows } = (await askAdmin("query", "POST", {
    query: "SELECT id, status FROM sys_invocation WHERE target = 'vedette.v1.RolloutRunner/run'",
  })) as { rows: { id: string; status: string }[] };
  const [one] = rows;
  if (one?.status === "paused") return one.id;
  if (one?.status === "running") await askAdmin(`invocations/${one.id}/pause`, "PATCH");
  return undefined;
}

async function askAdmin(path: string, method: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${program.endpoints().restate_admin}/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${program.token()}`,
      "content-type": "application/json",
      accept: "application/json",
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return text === "" ? undefined : JSON.parse(text);
}
