/** The command line as a child process, before a scripted control. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { childLimitMs, entry } from "../../support/program/command.ts";
import {
  buildStatus,
  type FakeControl,
  fakeImage as image,
  refusal,
  startFakeControl,
} from "../../support/program/fake-control.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: FakeControl;

beforeEach(async () => {
  control = await startFakeControl();
});

afterEach(() => control.stop());

type Options = { program?: string[]; environment?: Record<string, string> };

/** Starts the command; `ended` answers what it said and its exit code. */
function begin(args: string[], { program, environment = {} }: Options = {}) {
  const [file = "", ...rest] = program ?? [process.execPath, entry, ...args];
  const child = spawn(file, rest, {
    env: {
      PATH: process.env["PATH"],
      VEDETTE_DATA_DIR: path.join(tempDir(), "none"),
      VEDETTE_CONTROL_URL: control.url,
      INGRESS_TOKEN: control.token,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: childLimitMs,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    said.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said.stderr += chunk;
  });
  const ended = once(child, "close").then(([code]) => ({ ...said, code: code as number | null }));
  return { child, said, ended };
}

const run = (args: string[], options?: Options) => begin(args, options).ended;

const linesOf = (text: string) => text.trim().split("\n");

describe("rollout start --wait", () => {
  it("makes one call with the token in its header and nowhere else", async () => {
    control.play({ state: "completed", succeeded: 10 });

    const { stdout, stderr } = await run([
      "rollout",
      "start",
      image,
      "--waves",
      "20,100",
      "--wait",
    ]);

    const [call, ...more] = control.callsOf("Rollout");
    expect(more).toEqual([]);
    expect(call?.body).toEqual({ image, wave_percentages: [20, 100] });
    expect(call?.headers.authorization).toBe(`Bearer ${control.token}`);
    expect(stdout + stderr).not.toContain(control.token);
  });

  it("writes a line for each change where there is no terminal, in no colour", async () => {
    control.play(
      { current_wave: 1, succeeded: 1, in_flight: 1 },
      { current_wave: 1, succeeded: 1, in_flight: 1 },
      { current_wave: 2, succeeded: 6, in_flight: 2 },
      { state: "completed", current_wave: 2, succeeded: 10 },
    );

    const { stdout, code } = await run(["rollout", "start", image, "--wait"]);

    expect(code).toBe(0);
    expect(linesOf(stdout).slice(0, 4)).toEqual([
      "rollout r-2, started 2026-01-01 00:00:00 UTC",
      "wave 1/2: 1 of 10 on the new image, 0 failed, 1 in flight",
      "wave 2/2: 6 of 10 on the new image, 0 failed, 2 in flight",
      "completed: 10 of 10 on the new image, 0 failed, 0 in flight",
    ]);
    expect(stdout).toBe(stripVTControlCharacters(stdout));
  });

  it.each([
    ["completed", 0],
    ["paused", 2],
    ["cancelled", 3],
  ] as const)("ends as the rollout does: %s is exit code %i", async (state, expected) => {
    control.play({ state, succeeded: 3 });

    expect((await run(["rollout", "start", image, "--wait"])).code).toBe(expected);
  });

  it("names the failed sentinels with their reasons, and what can be done", async () => {
    const failed_sentinels = [{ id: "gw-7", reason: "crash_loop: exit code 1\u001b[2J" }];
    control.play({ state: "paused", succeeded: 1, failed: 1, failed_sentinels });

    const { stdout } = await run(["rollout", "start", image, "--wait"]);

    expect(stdout).toMatch(/gw-7 +crash_loop: exit code 1/);
    expect(stdout).not.toContain("\u001b");
    for (const next of ["resume", "rollback", "cancel"]) {
      expect(stdout).toContain(`npx vedette rollout ${next}`);
    }
  });

  it("writes one JSON document for each change, the last one being the end", async () => {
    control.play({ succeeded: 1 }, { succeeded: 2 }, { state: "completed", succeeded: 10 });

    const { stdout } = await run(["rollout", "start", image, "--wait", "--json"]);

    const documents = linesOf(stdout).map((line) => JSON.parse(line));
    expect(documents.map(({ state, succeeded }) => [state, succeeded])).toEqual([
      ["in_progress", 1],
      ["in_progress", 2],
      ["completed", 10],
    ]);
  });

  it("says at once and on one line why it was refused", async () => {
    control.stand({ rollout_id: "r-1", image: "registry.example.com/other:v1" });
    control.reply(
      "Rollout",
      refusal(409, "Rollout is not legal in state in_progress; legal now: Cancel"),
    );

    const { stdout, stderr, code } = await run(["rollout", "start", image, "--wait"]);

    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toBe("vedette: Rollout is not legal in state in_progress; legal now: Cancel\n");
  });

  it("says where a token that is refused was found", async () => {
    control.reply("Status", refusal(401, "send the ingress token"));

    const { stderr, code } = await run(["rollout", "status"]);

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^vedette: the token was refused \(from INGRESS_TOKEN\) by http\S+: run `vedette login`, or name another\n$/,
    );
  });

  it("repeats the call under the same key when its connection breaks", async () => {
    control.reply("Rollout", "reset", refusal(503, "Restate cannot be reached"));
    control.play({ state: "completed", succeeded: 10 });

    const { code } = await run(["rollout", "start", image, "--wait"]);

    const keys = control.callsOf("Rollout").map(({ headers }) => headers["idempotency-key"]);
    expect(code).toBe(0);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("reports a lost connection while it follows, and reconnects", async () => {
    const first = { status: 200, body: buildStatus({ rollout_id: "r-1", state: "completed" }) };
    control.reply("Status", first, "reset", "reset");
    control.play({ succeeded: 2 }, { state: "completed", succeeded: 10 });

    const { stdout, code } = await run(["rollout", "start", image, "--wait"]);

    expect(code).toBe(0);
    expect(stdout.match(/connection lost, trying again; the rollout continues/g)).toHaveLength(1);
  });

  it("detaches on Ctrl-C and says how to follow it again", async () => {
    control.play({ succeeded: 1 });
    const { child, said, ended } = begin(["rollout", "start", image, "--wait"]);
    await waitFor(() => said.stdout.includes("wave 1/2"), { withinMs: 20_000, what: "progress" });

    child.kill("SIGINT");

    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain("npx vedette rollout watch");
    expect(control.callsOf("Cancel")).toEqual([]);
  });
});

describe("rollout start without --wait", () => {
  it("returns as soon as its rollout has started, pinned to a digest or not", async () => {
    control.play({ image: `${image}@sha256:${"0".repeat(64)}`, succeeded: 1 });

    const { stdout, code } = await run(["rollout", "start", image]);

    expect(code).toBe(0);
    expect(stdout).toContain("in progress");
    expect(stdout).toContain("npx vedette rollout watch");
  });

  it("follows an image by its digest alone, with the line break that a build step printed", async () => {
    const built = `registry.example.com/vedette/sentinel@sha256:${"b".repeat(64)}`;
    control.play({ image: built, succeeded: 1 });

    const { stdout, code } = await run(["rollout", "start", `${built}\n`]);

    expect(code).toBe(0);
    expect(stdout).toContain("registry.example.com/vedette/sentinel@sha256:bbbbbbbbbbbb\n");
    expect(control.callsOf("Rollout").map(({ body }) => body["image"])).toEqual([built]);
  });

  it("does not mistake another rollout, started at the same moment, for its own", async () => {
    const theirs = buildStatus({ rollout_id: "r-9", image: "registry.example.com/other:v1" });
    const seen = () => control.callsOf("Status").length >= 4;
    const late = waitFor(seen, { withinMs: 20_000, what: "theirs to be seen" });
    control.reply(
      "Rollout",
      late.then(() => refusal(409, "not legal now")),
    );
    control.reply(
      "Status",
      { status: 200, body: buildStatus({ rollout_id: "r-1", state: "completed" }) },
      ...Array.from({ length: 50 }, () => ({ status: 200, body: theirs })),
    );

    const { stdout, stderr, code } = await run(["rollout", "start", image, "--detach"]);

    expect(code).toBe(1);
    expect(stderr).toBe("vedette: not legal now\n");
    expect(stdout).toBe("");
  });

  it("refuses --wait and --detach together", async () => {
    const { code, stderr } = await run(["rollout", "start", image, "--wait", "--detach"]);

    expect(code).toBe(1);
    expect(stderr).toContain("cannot be used with");
  });
});

describe("the other commands", () => {
  it("watch follows what runs to its end", async () => {
    control.reply(
      "Status",
      ...[1, 2].map((succeeded) => ({ status: 200, body: buildStatus({ succeeded }) })),
    );
    control.stand({ state: "paused", failed: 1 });

    const { stdout, code } = await run(["rollout", "watch"]);

    expect(code).toBe(2);
    expect(stdout).toContain("paused: 0 of 10 on the new image, 1 failed");
  });

  it("resume --wait follows the waves that are left", async () => {
    control.stand({ state: "paused", succeeded: 1, failed: 1 });
    control.play(
      { current_wave: 2, succeeded: 4, failed: 1 },
      { state: "completed", succeeded: 9 },
    );

    const { stdout, code } = await run(["rollout", "resume", "--wait"]);

    expect(code).toBe(0);
    expect(stdout).toContain("wave 2/2: 4 of 10 on the new image, 1 failed");
  });

  it("rollback shows its progress and ends with 2 when some sentinels were not reverted", async () => {
    control.stand({ state: "paused", succeeded: 5 });
    control.play({ state: "rolling_back", succeeded: 3, in_flight: 2 }, {
      state: "cancelled",
      succeeded: 1,
      reverted: 4,
      not_reverted: [{ id: "gw-3", reason: "unreachable" }],
    } as never);

    const { stdout, stderr, code } = await run(["rollout", "rollback"]);

    expect(code).toBe(2);
    expect(stderr).toContain("rolling back: 3 of 10 sentinels not put back yet, 2 in flight");
    expect(stdout).toMatch(/4 sentinels run their previous image again[\s\S]*gw-3 +unreachable/);
  });

  it("rollback ends with 2 when it ended early, whichever sentinels are listed", async () => {
    control.stand({ state: "paused", succeeded: 5 });
    control.play({
      state: "cancelled",
      succeeded: 5,
      reason: "the run ended early: killed",
      reverted: 0,
      not_reverted: [],
    } as never);

    const { stdout, code } = await run(["rollout", "rollback"]);

    expect(code).toBe(2);
    expect(stdout).toContain("the run ended early: killed");
  });

  it("rollback names the next command when failed sentinels keep the new image", async () => {
    control.stand({ state: "paused", failed: 2 });
    control.play({
      state: "cancelled",
      reverted: 0,
      not_reverted: [],
      still_ordered: [{ id: "gw-3", reason: "oom_killed" }],
      still_ordered_count: 2,
    } as never);

    const { stdout, code } = await run(["rollout", "rollback"]);

    expect(stdout).toMatch(/cancelled: nothing was reverted[\s\S]* rollback --include-failed/);
    expect(code).toBe(0);
  });

  it("rollback ends with 2 when a failed sentinel serves nothing, which it names", async () => {
    const text = "1 failed and serves nothing: gw-3.";
    const down = {
      standing: [{ text, brief: text, down: 1, failed_on_image: 0 }],
      reverted: 2,
      not_reverted: [],
    };
    control.stand({ state: "paused", failed: 1 });
    control.play({ state: "cancelled", failed: 1, ...down } as never);

    const { stdout, code } = await run(["rollout", "rollback"]);

    expect(stdout).toContain(`now        ${text}`);
    expect(code).toBe(2);
  });

  it.each([
    ["status", "Status", {}],
    ["cancel", "Cancel", {}],
  ])("%s --json prints one document", async (name, handler, body) => {
    control.reply(handler, { status: 200, body: buildStatus({ state: "cancelled" }) });

    const { stdout, code } = await run(["rollout", name, "--json"]);

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ state: "cancelled" });
    expect(control.callsOf(handler)[0]?.body).toEqual(body);
  });

  it("plan shows the waves without changing anything", async () => {
    const wave = {
      wave: 1,
      percentage: 100,
      size: 3,
      covered: 3,
      regions: { fra: 2, sin: 1 },
      earliest_start: "2026-01-01T00:00:00.000Z",
      sentinels: [],
    };
    control.reply("Plan", {
      status: 200,
      body: { image, total: 3, already_running: 1, waves: [wave] },
    });

    const { stdout } = await run(["rollout", "plan", image]);

    expect(stdout).toMatch(/1 +100 % +3 +3\/3 +fra 2, sin 1/);
    expect(control.calls.map(({ handler }) => handler)).toEqual(["Plan"]);
  });

  it("plan shows the failure budget, and how long each wave soaks", async () => {
    const wave = { wave: 1, percentage: 100, size: 3, covered: 3, regions: {}, sentinels: [] };
    const earliest_start = "2026-01-01T00:00:00.000Z";
    const limits = { max_failed: 1, soak_seconds: 60, earliest_start };
    control.reply("Plan", {
      status: 200,
      body: {
        image,
        total: 3,
        already_running: 0,
        on_failure: "rollback",
        max_failed: 2,
        waves: [{ ...wave, ...limits }],
      },
    });
    const options = ["--soak", "60", "--max-failed", "2", "--max-failed-per-wave", "40%"];

    const { stdout } = await run(["rollout", "plan", image, ...options]);

    expect(stdout).toContain("soaks 60 s");
    expect(stdout).toContain("Deploys that may fail: 1 by wave; 2 in all.");
    expect(stdout).toContain("the previous images are restored");
    expect(control.callsOf("Plan")[0]?.body).toEqual({
      image,
      soak_seconds: 60,
      max_failed: { in_all: 2, per_wave: "40%" },
    });
  });

  it("plan sends durations as seconds, and who alone is to get the image", async () => {
    const body = { image, total: 0, already_running: 3, waves: [] };
    control.reply("Plan", { status: 200, body });
    const waits = ["--soak", "10m", "--gate", "liveness", "--gate-timeout", "15m"];

    await run([
      "rollout",
      "plan",
      image,
      ...waits,
      "--only-regions",
      "eu,us",
      "--only-ids",
      "gw-7",
    ]);

    expect(control.callsOf("Plan")[0]?.body).toMatchObject({
      soak_seconds: 600,
      gate: { timeout_seconds: 900 },
      only: { ids: ["gw-7"], regions: ["eu", "us"] },
    });
  });

  it("plan prints the notes and the warnings of its answer", async () => {
    const notes = ["Canaries first: gw-1", "Gate: none", "Merged: 5 % adds no sentinel"];
    const warnings = ["pin typo, ids: no sentinel is called gw-99\u001b[2J"];
    const body = { image, total: 0, already_running: 3, waves: [], notes, warnings };
    control.reply("Plan", { status: 200, body });

    const { stdout } = await run(["rollout", "plan", image]);

    for (const note of notes) expect(stdout).toContain(`${note}\n`);
    expect(stdout).toContain("Warning: pin typo, ids: no sentinel is called gw-99");
    expect(stdout).not.toContain("\u001b");
  });

  it.each([
    ["start", image, "--wait"],
    ["start", image],
  ])("%s %s says that there is nothing to do", async (...words) => {
    const reason = "nothing to do: all 12 sentinels run it already";
    control.play({ state: "completed", total: 0, current_wave: 0, total_waves: 0, reason });

    const { stdout, code } = await run(["rollout", ...words]);

    expect(code).toBe(0);
    expect(stdout).toContain(reason);
  });

  it("history says that a rollout had nothing to do", async () => {
    const counts = {
      current_wave: 0,
      total_waves: 0,
      total: 0,
      succeeded: 0,
      failed: 0,
      reverted: 0,
    };
    const times = { started_at: "2026-01-01T00:00:00Z", updated_at: "x", ended_at: "x" };
    const of = { rollout_id: "r-2", state: "completed", image, wave_percentages: [100] };
    const rollouts = [{ ...of, ...counts, ...times, started_by: "alice" }];
    control.reply("History", { status: 200, body: { rollouts } });

    const { stdout } = await run(["rollout", "history"]);

    expect(stdout).toMatch(/completed .* nothing to do +0 +alice/);
  });

  it("prints each line of a refusal of who is deployed", async () => {
    const lines = [
      "exclude.0.ids: no sentinel is called gw-99; there are gw-9",
      "regions: no sentinel is in x",
    ];
    control.reply("Rollout", refusal(400, lines.join("\n")));

    const { stderr, code } = await run(["rollout", "start", image, "--exclude-ids", "gw-99"]);

    expect(code).toBe(1);
    expect(linesOf(stderr)).toEqual(lines.map((line) => `vedette: ${line}`));
  });

  it("says in the help of --regions that it is an order", async () => {
    const { stdout } = await run(["rollout", "start", "--help"]);

    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "take these regions first, then all others (to take no others: --only-regions)",
    );
  });

  it.each([
    [["resume", "--retry-failed"], "Resume", { retry_failed: true }],
    [["rollback", "--include-failed"], "RollbackAll", { include_failed: true }],
    [["pause"], "Pause", {}],
    [["skip", "--reason", "incident 4711"], "Skip", { reason: "incident 4711" }],
  ] as const)("%j calls %s with its body", async (words, handler, body) => {
    control.reply(handler, {
      status: 200,
      body: { ...buildStatus({ state: "paused" }), reverted: 0, not_reverted: [] },
    });

    await run(["rollout", ...words]);

    expect(control.callsOf(handler)[0]?.body).toEqual(body);
  });

  it("skip asks for a reason", async () => {
    const { stderr, code } = await run(["rollout", "skip"]);

    expect(code).toBe(1);
    expect(stderr).toContain("--reason");
  });

  const sentinel = (id: string) => ({
    id,
    region: "fra",
    image,
    running_image: image,
    previous_image: null,
    deploy_status: "ready",
    deploy_reason: null,
    health: "healthy",
    updated_at: "2026-01-01T00:00:00.000Z",
  });

  it("sentinels list reads page after page", async () => {
    control.reply(
      "List",
      { status: 200, body: { sentinels: [sentinel("a")], next_cursor: "a" } },
      { status: 200, body: { sentinels: [sentinel("b")] } },
    );

    const { stdout } = await run(["sentinels", "list", "--json"]);

    expect(JSON.parse(stdout).sentinels.map(({ id }: { id: string }) => id)).toEqual(["a", "b"]);
    expect(control.callsOf("List")[1]?.body).toMatchObject({ cursor: "a" });
  });

  it("sentinels list says when the fleet's newest list was not accepted", async () => {
    control.reply("List", {
      status: 200,
      body: { sentinels: [sentinel("a")], list_problem: "unreachable" },
    });

    const { stderr, code } = await run(["sentinels", "list"]);

    expect(stderr).toBe("This list may be out of date: unreachable\n");
    expect(code).toBe(0);
  });

  it("sentinels list of a fleet that was never read says so and fails", async () => {
    control.reply("List", { status: 200, body: { sentinels: [], list_problem: "unreachable" } });

    const { stdout, code } = await run(["sentinels", "list"]);

    expect(stdout).toContain("the list was never read: unreachable");
    expect(code).toBe(1);
  });

  it("sentinels log prints the lines, and beside them what they are of", async () => {
    const reason = "crash_loop: exit code 3";
    const at = "2026-11-01T03:00:00.000Z";
    const lines = ["reading settings", "no\u001b[2J database"];
    control.reply("Log", { status: 200, body: { sentinel: "gw-1", image, lines, at, reason } });

    const { stdout, stderr, code } = await run(["sentinels", "log", "gw-1"]);

    expect([stdout, code]).toEqual(["reading settings\nno [2J database\n", 0]);
    expect(stderr).toBe(`gw-1, ${image}, ${at}: ${reason}\n`);
    expect(control.callsOf("Log")[0]?.body).toEqual({ sentinel: "gw-1", which: "failed" });
  });

  it("sentinels log says why there are no lines, and whose lines may help", async () => {
    const body = { sentinel: "eu:gw-1", image, lines: [], note: "not kept", similar: ["eu:gw-7"] };
    control.reply("Log", { status: 200, body });

    const { stdout, stderr } = await run([
      ...["sentinels", "log", "gw-1", "--running", "--fleet", "eu"],
    ]);

    expect(stdout).toBe("");
    expect(stderr).toContain(
      "No log: not kept\nFailed in the same way, and have their log: eu:gw-7",
    );
    const [call] = control.callsOf("Log");
    expect(call?.body).toEqual({ sentinel: "eu:gw-1", which: "running" });
  });

  it("sentinels confirm sends the number, and prints how many are known then", async () => {
    control.reply("ConfirmList", { status: 200, body: { total: 3 } });

    const { stdout } = await run(["sentinels", "confirm", "3"]);

    expect(stdout).toBe("3 sentinels are known now.\n");
    expect(control.callsOf("ConfirmList")[0]?.body).toEqual({ count: 3 });
  });
});

describe("errors", () => {
  it.each([
    [
      "nobody is there",
      "http://127.0.0.1:1",
      /^vedette: http:\/\/127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)\n$/,
    ],
    ["the address is none", "7071", /^vedette: 7071 is no address of control: it has .*\n$/],
  ])("are one line and exit code 1 when %s", async (_, url, expected) => {
    const { stderr, code } = await run(["rollout", "start", image, "--wait", "--url", url]);

    expect(code).toBe(1);
    expect(stderr).toMatch(expected);
  });

  it("are one line when something else answers at the address", async () => {
    control.reply("Status", { status: 200, body: { hello: "world" } });

    const { stderr, code } = await run(["rollout", "status"]);

    expect(code).toBe(1);
    expect(linesOf(stderr)).toEqual([
      "vedette: the answer is not from Vedette, or of another version: is the address that of control?",
    ]);
  });
});

/** Of util-linux: runs a program on a terminal of its own. */
const terminal = "script";
const hasTerminal = spawnSync(terminal, ["--version"]).status === 0;
if (!hasTerminal)
  process.stdout.write("skipped: progress on a terminal needs script of util-linux\n");

describe.skipIf(!hasTerminal)("on a terminal", () => {
  const onTerminal = (args: string, environment: Record<string, string> = {}) => {
    // A new terminal has no size, which is no room for bars.
    const command = `stty rows 24 cols 100; exec '${process.execPath}' '${entry}' ${args}`;
    const program = [terminal, "-qec", command, "/dev/null"];
    return begin([], { program, environment: { TERM: "xterm", ...environment } });
  };
  const plan = {
    image,
    total: 10,
    already_running: 0,
    waves: [1, 2].map((wave) => ({
      wave,
      percentage: wave * 50,
      size: 5,
      covered: wave * 5,
      regions: {},
      earliest_start: "2026-01-01T00:00:00.000Z",
      sentinels: [],
    })),
  };

  it("shows a bar for each wave, and the end in colour", async () => {
    control.reply("Plan", { status: 200, body: plan });
    control.play(
      { current_wave: 1, succeeded: 2, in_flight: 1 },
      { current_wave: 2, succeeded: 7, in_flight: 3 },
      { state: "completed", current_wave: 2, succeeded: 10 },
    );

    const { stdout, code } = await onTerminal(`rollout start ${image} --wait`).ended;

    const text = stripVTControlCharacters(stdout);
    expect(code).toBe(0);
    expect(text).toMatch(/wave +1 +[█░]+ +2\/5 +1 in flight/);
    expect(text).toMatch(/wave +2 +[█░]+ +2\/5 +3 in flight/);
    expect(text).toMatch(/wave +1 +█+ +5\/5/);
    expect(stdout).toContain("\u001b[32mcompleted");
  });

  it("shows bars when it follows a rollout that runs already", async () => {
    const running = { status: 200, body: buildStatus({ current_wave: 2, succeeded: 7 }) };
    const { rollout_id, state, total } = running.body;
    const past = { rollout_id, state, total, image, wave_percentages: [50, 100] };
    const counts = { current_wave: 2, total_waves: 2, succeeded: 7, failed: 0, reverted: 0 };
    const times = { started_at: "x", updated_at: "x", ended_at: null };
    const rollouts = [{ ...past, ...counts, ...times, started_by: "x" }];
    control.reply("History", { status: 200, body: { rollouts } });
    control.reply("Status", running, running, running);
    control.stand({ state: "completed", current_wave: 2, succeeded: 10 });

    const { stdout, code } = await onTerminal("rollout watch").ended;

    expect(code).toBe(0);
    expect(stripVTControlCharacters(stdout)).toMatch(/wave +2 +[█░]+ +2\/5/);
  });

  it("honours NO_COLOR", async () => {
    const { stdout } = await onTerminal("rollout status", { NO_COLOR: "1" }).ended;

    expect(stdout).toContain("completed");
    expect(stdout).not.toContain("\u001b[3");
  });
});
