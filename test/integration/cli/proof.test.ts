/** `vedette rollout proof` with the whole program: made, killed, stopped, rotated. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const run = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

/** Without an address, a token or a data directory. */
const verify = (proof: string, keys: string) =>
  runVedette(["rollout", "proof", "verify", proof, "--key", keys, "--json"]);

const keysPage = () => fetch(`${program.endpoints().control}/.well-known/vedette-proof-keys.json`);

const roll = async (tag: string) => {
  const { body } = await program.call("Rollout", {
    image: `registry.example.com/team/sentinel:${tag}`,
  });
  expect(body).toMatchObject({ state: "completed" });
  return String(body["rollout_id"]);
};

const openPostgres = () =>
  openDatabase(runningDatabaseUrl(program.dataDir), createLog({ level: "silent", format: "json" }));

it("a proof is verified while nothing runs, after a rotation too, and no changed one is", async () => {
  const dir = tempDir();
  const file = (name: string) => path.join(dir, name);
  const early = await run("rollout", "proof", "none");
  const id = await roll("v2");
  const first = await waitFor(
    async () => {
      const end = await run("rollout", "proof", id);
      return end.code === 0 && end;
    },
    { withinMs: 60_000, what: "the proof" },
  );
  const second = await run("rollout", "proof", id, "--out", file("proof.json"));
  writeFileSync(file("old-keys.json"), await (await keysPage()).text());
  const rotated = await run("keys", "rotate-proof", "--json");
  await run("rollout", "proof", await roll("v3"), "--out", file("later.json"));
  const page = await keysPage();
  writeFileSync(file("keys.json"), await page.text());
  await program.stop();

  const [whole, later, wrongKeys] = await Promise.all([
    verify(file("proof.json"), file("keys.json")),
    verify(file("later.json"), file("keys.json")),
    verify(file("later.json"), file("old-keys.json")),
  ]);
  const text = readFileSync(file("proof.json"), "utf8");
  const at = text.indexOf('"payload":"') + 200;
  const other = text[at] === "A" ? "B" : "A";
  writeFileSync(file("changed.json"), text.slice(0, at) + other + text.slice(at + 1));
  const changed = await verify(file("changed.json"), file("keys.json"));

  expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no rollout") });
  expect(second.stderr).toContain("/.well-known/vedette-proof-keys.json");
  expect(text).toBe(first.stdout);
  expect(whole.code).toBe(0);
  expect(JSON.parse(whole.stdout)).toMatchObject({
    verified: true,
    statement: {
      subject: [{ name: "registry.example.com/team/sentinel:v2", digest: {} }],
      predicate: { rollout_id: id, outcome: "completed", waves: [{ succeeded: 1 }] },
    },
  });
  expect(JSON.parse(later.stdout)).toMatchObject({
    verified: true,
    key_id: JSON.parse(rotated.stdout).key_id,
  });
  expect(wrongKeys.code).toBe(2);
  expect(JSON.parse(wrongKeys.stdout)).toMatchObject({ verified: false, code: "unknown_key" });
  expect(changed.code).toBe(2);
  expect(JSON.parse(changed.stdout)).toMatchObject({ verified: false, code: "changed" });
  expect(page.headers.get("content-type")).toContain("application/jwk-set+json");
  expect(readFileSync(file("keys.json"), "utf8")).not.toMatch(/PRIVATE|"d":/);
  await program.start();
});

it("a rollout has its proof although everything was killed between its end and the proof", async () => {
  const lock = openPostgres();
  const holder = await lock.connect();
  holder.on("error", () => {});
  await holder.query("BEGIN; LOCK TABLE rollout_proofs IN ACCESS EXCLUSIVE MODE");
  const id = await roll("v4");
  await waitFor(
    async () => {
      const { rows } = await holder.query(
        "SELECT 1 FROM pg_locks WHERE relation = 'rollout_proofs'::regclass AND NOT granted",
      );
      return rows.length > 0;
    },
    { withinMs: 30_000, what: "the proof to wait for the table" },
  );

  for (const part of ["main", "restate", "postgres"] as const) program.kill9(part);
  holder.release(true);
  await lock.end();
  await program.start();

  const database = openPostgres();
  const count = async () => {
    const text = "SELECT 1 FROM rollout_proofs WHERE rollout_id = $1";
    return (await database.query(text, [id])).rowCount;
  };
  await waitFor(async () => (await count()) === 1, { withinMs: 90_000, what: "the proof" });
  await database.end();
});
