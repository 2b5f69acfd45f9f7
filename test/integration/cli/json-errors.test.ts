/** What commands say of errors: JSON with a code for programs, and the nearest command of a name that is none. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type FakeControl, refusal, startFakeControl } from "../../support/program/fake-control.ts";

let control: FakeControl;

beforeEach(async () => {
  control = await startFakeControl();
});

afterEach(() => control.stop());

const run = (args: string[], environment: Record<string, string> = {}) =>
  runVedette(args, {
    VEDETTE_DATA_DIR: "/nonexistent",
    VEDETTE_CONTROL_URL: control.url,
    INGRESS_TOKEN: control.token,
    ...environment,
  });

const nobody = { VEDETTE_CONTROL_URL: "http://127.0.0.1:9" };

it.each([
  ["an unknown command", ["nosuch", "--json"], {}, "usage"],
  ["an unknown option", ["checks", "list", "--sinc", "--json"], {}, "usage"],
  ["a refused value", ["rollout", "start", "a/b:v2", "--soak", "soon", "--json"], {}, "usage"],
  ["a missing argument", ["rollout", "start", "--json"], {}, "usage"],
  ["a server that cannot be reached", ["status", "--json"], nobody, "unreachable"],
  ["a server for logins that is away", ["whoami", "--json"], nobody, "unreachable"],
  ["no running Vedette", ["status", "--json"], { VEDETTE_CONTROL_URL: "" }, "unreachable"],
  ["no token", ["status", "--json"], { INGRESS_TOKEN: "" }, "unauthorized"],
  ["an address that is none", ["status", "--url", "7071", "--json"], {}, "usage"],
  ["a token file that is missing", ["status", "--token-file", "/none", "--json"], {}, "usage"],
  [
    "a part of a gate",
    ["rollout", "start", "a/b:v2", "--gate-clean-runs", "2", "--json"],
    {},
    "usage",
  ],
  ["a pin of nobody", ["pins", "add", "p", "--reason", "why", "--json"], {}, "usage"],
  [
    "a window without times",
    ["windows", "add", "w", "--kind", "freeze", "--reason", "why", "--from", "9", "--json"],
    {},
    "usage",
  ],
  ["events that are not named", ["alerts", "redeliver", "--json"], {}, "usage"],
  ["settings that cannot be read", ["doctor", "--json", "--config"], {}, "usage"],
  ["any other error", ["checks", "lint", "--json", "--config", "/nonexistent"], {}, "failed"],
])("with --json %s is a document with a code on stdout", async (_, args, environment, code) => {
  const end = await run(args, environment);

  expect(end.code).toBe(1);
  expect(JSON.parse(end.stdout)).toEqual({ code, message: expect.stringMatching(/./) });
});

it("the address of another server is said to be none of control", async () => {
  control.reply("Status", { status: 404, body: { error: { detail: "no such path" } } });

  const { stderr } = await run(["rollout", "status"]);

  expect(stderr).toContain(`${control.url} answered 404, and not as Vedette's control does`);
});

it("a token that goes to another machine over http is warned of once", async () => {
  const { stderr } = await run(["status"], { VEDETTE_CONTROL_URL: "http://vedette.invalid" });

  expect(stderr.split("over http the token can be read on its way")).toHaveLength(2);
});

it("a runner's token that goes to another machine over http is warned of", async () => {
  const args = ["monitor-runner", "--location", "fra", "--control", "http://vedette.invalid"];
  const { stderr } = await run(args, { VEDETTE_RUNNER_TOKEN: "x".repeat(43) });

  expect(stderr).toContain("over http the token can be read on its way");
});

it("a token that stays on this machine is not warned of", async () => {
  expect((await run(["rollout", "status"])).stderr).toBe("");
});

it("rollback takes --wait, as start and resume do", async () => {
  control.play({ state: "rolling_back" }, { state: "cancelled", outcome: "rolled_back" });

  const { stderr } = await run(["rollout", "rollback", "--wait"]);

  expect(stderr).not.toContain("unknown option");
  expect(control.callsOf("RollbackAll")).toHaveLength(1);
});

it("with --json a refusal of the program keeps its code", async () => {
  const { body } = refusal(401, "the token was refused") as { body: object };
  control.reply("Status", { status: 401, body: { ...body, code: "unauthorized" } });

  const { stdout, code } = await run(["rollout", "status", "--json"]);

  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    code: "unauthorized",
    message: expect.stringMatching(/^the token was refused \(from INGRESS_TOKEN\) by http/),
  });
});

it("alerts simulate says in JSON why it reaches nobody yet", async () => {
  const { stdout } = await run(["alerts", "simulate", "--checks", "--json"]);

  expect(JSON.parse(stdout)).toMatchObject({ reaches_nobody: "incident.url is not set" });
});

it("without --json an error leaves stdout empty", async () => {
  expect(await run(["status"], nobody)).toMatchObject({ code: 1, stdout: "" });
});

it.each([
  ["chekcs --help", "checks"],
  ["help chekcs", "checks"],
  ["checks lst --help", "list"],
])("`%s` is an error that names the nearest command", async (words, nearest) => {
  const { code, stdout, stderr } = await run(words.split(" "));

  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(`Did you mean ${nearest}?`);
});

it("`nosuch --help` is an error", async () => {
  const { code, stderr } = await run(["nosuch", "--help"]);

  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("unknown command 'nosuch'"),
  });
});

it("`help` of a command prints its help", async () => {
  expect((await run(["help", "checks"])).stdout).toMatch(/^Usage: vedette checks/);
});
