/** `vedette drills` and `vedette heartbeats list` with a whole program, whose drill has a webhook. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runVedette } from "../../../support/program/command.ts";
import { type Program, startProgram } from "../../../support/program/program.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const server = createServer((_, outgoing) => outgoing.writeHead(state.status).end());
const state = { status: 200 };
const directory = makeTempDir();
let program: Program;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const drill = { id: "weekly", cron: "0 9 29 2 *", graceSeconds: 600, channels: ["hook"] };
  const definitions = {
    extends: ["standard"],
    channels: [{ id: "hook", kind: "webhook", url }],
    drills: [drill],
  };
  const file = path.join(directory.path, "vedette.config.json");
  writeFileSync(file, JSON.stringify(definitions));
  program = await startProgram({ VEDETTE_DEFINITIONS__FILE: file });
});

afterAll(async () => {
  await program.dispose();
  server.closeAllConnections();
  server.close();
  directory.remove();
});

const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

it("runs a drill, which is ok once its channel has accepted the alert", async () => {
  const before = await vedette("drills", "list");

  const begun = await vedette("drills", "run", "weekly");

  const isOk = async () => /weekly +ok /.test((await vedette("drills", "list")).stdout);
  await waitFor(isOk, { withinMs: 20_000, what: "the drill to be ok" });
  expect(before.stdout).toMatch(/weekly +waiting .*0 9 29 2 \* UTC, grace 10 min +hook/);
  expect(begun).toMatchObject({ code: 0, stderr: "" });
  expect(begun.stdout).toContain(
    "weekly has begun: its test alert has to be accepted by hook until 20",
  );
  expect(program.output()).toMatch(/"?drill begun"?/);
});

it("refuses a second run while one waits, and says what for", async () => {
  state.status = 500;
  const first = await vedette("drills", "run", "weekly", "--json");

  const second = await vedette("drills", "run", "weekly");

  expect(JSON.parse(first.stdout)).toMatchObject({
    drill: "weekly",
    by: "ingress-token",
    channels: ["hook"],
  });
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(
    "the drill weekly is busy: a run that the ingress token (no operator) began at",
  );
  expect(second.stderr).toContain("still waits for hook");
});

it.each([
  ["liveness", "there is no drill liveness"],
  ["no/drill", "no/drill is not a drill: `vedette drills list` shows them"],
])("does not run %s", async (name, words) => {
  const { code, stderr } = await vedette("drills", "run", name);

  expect(code).toBe(1);
  expect(stderr).toContain(words);
});

it("lists the heartbeats alone", async () => {
  const { stdout } = await vedette("heartbeats", "list");
  const { heartbeats } = JSON.parse((await vedette("heartbeats", "list", "--json")).stdout);

  expect(stdout).toMatch(/^heartbeat +status +since +last ping +due +rule +alert/);
  expect(stdout).toMatch(/workflows-refill .*every 24 h, grace 60 min/);
  expect(stdout).toContain("not set up: `vedette heartbeats register key-refill-staging`");
  expect(stdout).not.toContain("liveness");
  expect(heartbeats.map(({ id }: { id: string }) => id)).toContain("weekly");
});

it("a heartbeat is listed with its deadline right after its ping URL was made", async () => {
  await vedette("heartbeats", "list");
  await vedette("heartbeats", "register", "key-refill-staging");

  const { heartbeats } = JSON.parse((await vedette("heartbeats", "list", "--json")).stdout);

  const found = heartbeats.find(({ id }: { id: string }) => id === "key-refill-staging");
  expect(found).toMatchObject({ status: "pending", reason: null, due_at: expect.any(String) });
});
