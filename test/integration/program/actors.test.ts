/** Who changed something is in the worker's log, by the name that control has signed. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const by = "ingress-token";
const image = "vedette/sentinel:v2";
const hash = (digit: string) => ({ token_hash: digit.repeat(64) });

/** The line with this message. */
function find(message: string): object | undefined {
  const lines = program.output().split("\n");
  const line = lines.find((text) => text.includes(`"msg":"${message}"`));
  return line === undefined ? undefined : (JSON.parse(line) as object);
}

it.each([
  ["check muted", "ApiCheck/liveness/Mute", {}, { check: "liveness" }],
  ["check unmuted", "ApiCheck/liveness/Unmute", {}, { check: "liveness" }],
  [
    "heartbeat registered",
    "Heartbeat/quota-check/Register",
    hash("a"),
    { check: "quota-check", replaced: false },
  ],
  ["runner added", "MonitorRunners/Add", { location: "fra", ...hash("b") }, { location: "fra" }],
  ["runner removed", "MonitorRunners/Remove", { location: "fra" }, { location: "fra" }],
  ["cron job started by an operator", "CronService/key-refill/Run", {}, { job: "key-refill" }],
  ["fleet list confirmed", "FleetService/ConfirmList", { count: 1 }, { total: 1 }],
  ["starting sentinel rollout", "SentinelRolloutService/singleton/Rollout", { image }, { image }],
  ["starting wave", "SentinelRolloutService/singleton/Status", {}, { wave: 1 }],
])("%s", async (message, path, body, fields) => {
  const { status } = await program.post(`vedette.v1.${path}`, body);

  await waitFor(() => find(message) !== undefined, { withinMs: 20_000, what: message });
  expect(status).toBe(200);
  expect(find(message)).toMatchObject({ ...fields, by });
});
