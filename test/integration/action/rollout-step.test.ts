/** The script of the GitHub Action, as a child process that calls a scripted control. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";
import { runChild } from "./run-child.ts";
import { image, refuse, startScriptedControl, token } from "./scripted-control.ts";

const script = fileURLToPath(new URL("../../../action/rollout.mjs", import.meta.url));

const working = [
  { state: "in_progress", succeeded: 0 },
  { state: "in_progress", succeeded: 2 },
];
const completing = [...working, { state: "completed", succeeded: 4 }];
const pausing = [...working, { state: "paused", succeeded: 3, failed: 1 }];

type Stop = Parameters<typeof runChild>[2];

async function runStep(url: string, over: Record<string, string> = {}, stop?: Stop) {
  const directory = tempDir();
  const outputFile = path.join(directory, "output");
  const summaryFile = path.join(directory, "summary");
  for (const file of [outputFile, summaryFile]) writeFileSync(file, "");
  const environment = {
    VEDETTE_CONTROL_URL: url,
    INGRESS_TOKEN: token,
    VEDETTE_IMAGE: image,
    VEDETTE_POLL_MS: "20",
    GITHUB_OUTPUT: outputFile,
    GITHUB_STEP_SUMMARY: summaryFile,
    ...over,
  };
  const result = await runChild([process.execPath, script], environment, stop);
  return {
    ...result,
    outputs: readFileSync(outputFile, "utf8"),
    summary: readFileSync(summaryFile, "utf8"),
  };
}

it("requests the rollout that its inputs describe, once", async () => {
  const control = await startScriptedControl({ scenes: completing });

  await runStep(control.url, { VEDETTE_WAVES: "50, 100" });

  const bodies = control.callsOf("Rollout").map(({ body }) => body);
  expect(bodies).toEqual([{ image, wave_percentages: [50, 100] }]);
});

it("passes on the trace of its pipeline, if that is one", async () => {
  const control = await startScriptedControl({ scenes: completing });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  await runStep(control.url, { TRACEPARENT: traceparent, TRACESTATE: "ci=1" });
  await runStep(control.url, { TRACEPARENT: "none" });

  const headers = control.callsOf("Rollout").map((call) => call.headers);
  expect(headers[0]).toMatchObject({ traceparent, tracestate: "ci=1" });
  expect(headers[1]).not.toHaveProperty("traceparent");
});

it("takes an image without the line break that a step before has printed after it", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { code } = await runStep(control.url, { VEDETTE_IMAGE: `${image}\n` });

  expect(code).toBe(0);
  expect(control.callsOf("Rollout").map(({ body }) => body)).toEqual([{ image }]);
});

it("asks for the fleet of its input, and for the default one without it", async () => {
  const control = await startScriptedControl({ scenes: completing });

  await runStep(control.url, { VEDETTE_FLEET: "staging" });
  await runStep(control.url, { VEDETTE_FLEET: "" });

  const calls = [...control.callsOf("Rollout"), ...control.callsOf("Status")];
  expect(new Set(calls.map(({ fleet }) => fleet))).toEqual(new Set(["staging", "singleton"]));
});

it("refuses a fleet that is no name", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, output } = await runStep(control.url, { VEDETTE_FLEET: "a/../b" });

  expect(code).toBe(1);
  expect(output).toContain("fleet is the name of a fleet");
  expect(control.callsOf("Rollout")).toEqual([]);
});

it("requests what its options say", async () => {
  const control = await startScriptedControl({ scenes: completing });
  const options = { soak_seconds: 60, max_failed: { in_all: "2%" } };

  await runStep(control.url, { VEDETTE_OPTIONS: JSON.stringify(options) });

  const bodies = control.callsOf("Rollout").map(({ body }) => body);
  expect(bodies).toEqual([{ image, ...options }]);
});

it.each([
  ["image", { image: "another:v1" }, {}],
  ["wave_percentages", { wave_percentages: [100] }, { VEDETTE_WAVES: "50,100" }],
  ["gate", { gate: { checks: ["a"] } }, { VEDETTE_GATE_CHECKS: "b" }],
  ["gates", { gates: ["a"] }, { VEDETTE_GATES: "[]" }],
])("refuses %s in its options beside the input for it", async (field, options, over) => {
  const control = await startScriptedControl({ scenes: completing });
  const given = { VEDETTE_OPTIONS: JSON.stringify(options), ...over };

  const { code, output } = await runStep(control.url, given);

  expect(code).toBe(1);
  expect(output).toContain(`::error::options has ${field}, which an input of this step says`);
  expect(control.callsOf("Rollout")).toEqual([]);
});

it.each(["[]", "soak", "3"])("refuses the options %j", async (options) => {
  const { output, code } = await runStep("http://127.0.0.1:1", { VEDETTE_OPTIONS: options });

  expect(code).toBe(1);
  expect(output).toContain("::error::options is a JSON object");
});

it("says what the rollout waits for", async () => {
  const waiting = { state: "in_progress", succeeded: 2, waiting_for: "window" };
  const control = await startScriptedControl({ scenes: [...working, waiting, ...completing] });

  const { output } = await runStep(control.url);

  expect(output).toContain("0 failed, waits for the window\n");
});

it("requests the gate of its inputs", async () => {
  const control = await startScriptedControl({ scenes: completing });

  await runStep(control.url, {
    VEDETTE_GATE_CHECKS: "verify-key, liveness",
    VEDETTE_GATE_CLEAN_RUNS: "3",
  });

  const bodies = control.callsOf("Rollout").map(({ body }) => body);
  expect(bodies).toEqual([{ image, gate: { checks: ["verify-key", "liveness"], clean_runs: 3 } }]);
});

it.each([
  ["10m", 600],
  ["90", 90],
])("takes %s as the timeout of its gate", async (given, timeout_seconds) => {
  const control = await startScriptedControl({ scenes: completing });

  await runStep(control.url, {
    VEDETTE_GATE_CHECKS: "liveness",
    VEDETTE_GATE_TIMEOUT_SECONDS: given,
  });

  const bodies = control.callsOf("Rollout").map(({ body }) => body);
  expect(bodies).toEqual([{ image, gate: { checks: ["liveness"], timeout_seconds } }]);
});

it.each(['["errors", {"kind": "pause", "name": "sign-off"}]', "[]"])(
  "requests the gates %s beside the gate of its checks",
  async (gates) => {
    const control = await startScriptedControl({ scenes: completing });

    await runStep(control.url, { VEDETTE_GATES: gates, VEDETTE_GATE_CHECKS: "liveness" });

    expect(control.callsOf("Rollout").map(({ body }) => body)).toEqual([
      { image, gate: { checks: ["liveness"] }, gates: JSON.parse(gates) },
    ]);
  },
);

it.each(['{"kind": "pause"}', "errors", '"errors"'])("refuses the gates %s", async (gates) => {
  const { output, code } = await runStep("http://127.0.0.1:1", { VEDETTE_GATES: gates });

  expect(code).toBe(1);
  expect(output).toContain("::error::gates is a JSON list such as");
});

it("ends with 0 and sets its outputs when the rollout completes", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, outputs } = await runStep(control.url);

  expect({ code, outputs }).toEqual({
    code: 0,
    outputs: "state=completed\nrollout-id=r-2\nsucceeded=4\nfailed=0\n",
  });
});

it("prints where the rollout's page is, and a plain line for each change", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { output } = await runStep(control.url);

  const waves = [0, 2].map((n) => `in_progress: wave 1/2, ${n} of 4 on the new image, 0 failed`);
  const last = "completed: wave 1/2, 4 of 4 on the new image, 0 failed";
  const page = `rollout r-2: ${control.url}/console/history/r-2?fleet=singleton`;
  expect(output.trim().split("\n")).toEqual([page, ...waves, last]);
});

it("prints no line that the runner would read as a command, whatever the answer has", async () => {
  const state = "::warning::x\n##[add-path]/tmp\r::stop-commands::y";
  const control = await startScriptedControl({ scenes: [{ state, succeeded: 0 }] });

  const { output } = await runStep(control.url);

  expect(output).toContain("warning x add path tmp stop commands y: wave 1/2");
  expect(output).not.toMatch(/^\s*(::|##\[)/m);
});

it("stops reading an answer at its size limit", async () => {
  const page = Buffer.alloc(1024 * 1024, " ");
  const server = createServer((_incoming, outgoing) => {
    const send = () => {
      while (!outgoing.destroyed && outgoing.write(page));
    };
    outgoing.on("drain", send).on("error", () => {});
    send();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });

  const { code, output } = await runStep(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );

  expect(code).toBe(1);
  expect(output).toContain("does not answer as Vedette's control does");
});

it("ends with 2 when the rollout pauses", async () => {
  const control = await startScriptedControl({ scenes: pausing });

  const { code, outputs } = await runStep(control.url);

  expect({ code, outputs }).toMatchObject({ code: 2, outputs: expect.stringContaining("=paused") });
});

it("says in its log and its summary what runs where when the rollout pauses", async () => {
  const standing = [
    { text: "3 of 8 run v3.", brief: "3 of 8 run v3", down: 0, failed_on_image: 0 },
    {
      text: "1 failed and serves nothing: gw-2.",
      brief: "1 failed and serves nothing",
      down: 1,
      failed_on_image: 0,
    },
  ];
  const scenes = [...working, { state: "paused", succeeded: 3, failed: 1, standing }];
  const control = await startScriptedControl({ scenes });

  const { output, summary } = await runStep(control.url);

  expect(output).toContain("paused: 3 of 8 run v3. 1 failed and serves nothing: gw-2.\n");
  expect(summary).toContain(": 3 of 8 run v3. 1 failed and serves nothing: gw-2.\n");
});

it.each([
  [0, "rollback"],
  [1, "rollback --include-failed"],
])("names the next commands when it pauses with %i sentinels down", async (down, restore) => {
  const standing = [{ text: "1 failed: gw-2.", brief: "1 failed", down, failed_on_image: 0 }];
  const scenes = [...working, { state: "paused", succeeded: 3, failed: 1, standing }];
  const control = await startScriptedControl({ scenes });

  const { output, summary } = await runStep(control.url, { VEDETTE_FLEET: "staging" });

  for (const words of ["resume", restore, "cancel"]) {
    const command = `npx vedette rollout ${words} --fleet staging --url ${control.url}`;
    expect(output).toContain(`::notice::Next: ${command}\n`);
    expect(summary).toContain(`- Next: ${command}\n`);
  }
  expect(summary).toContain(`[Rollout r-2](${control.url}/console/history/r-2?fleet=staging)`);
});

it("names failed sentinels in the summary, whatever their reasons have", async () => {
  const control = await startScriptedControl({ scenes: pausing });

  const { summary } = await runStep(control.url);

  expect(summary).toContain("| s\\|1 | crash\\_loop: exit code 1 |\n");
});

it("says why a sentinel failed on one line of the log", async () => {
  const control = await startScriptedControl({ scenes: pausing });

  const { output } = await runStep(control.url);

  expect(output).toContain("::error::s|1: crash_loop: exit%0Acode 1\n");
});

it("ends with 3 when someone cancels the rollout", async () => {
  const control = await startScriptedControl({ scenes: [...working, { state: "cancelled" }] });

  const { code } = await runStep(control.url);

  expect(code).toBe(3);
});

it("rolls a paused rollout back when on-failure says so, and still fails", async () => {
  const rollback = [{ state: "rolling_back", failed: 1 }, { state: "cancelled" }];
  const control = await startScriptedControl({ scenes: pausing, rollback });

  const { code, outputs } = await runStep(control.url, { VEDETTE_ON_FAILURE: "rollback" });

  expect(control.callsOf("RollbackAll")).toHaveLength(1);
  expect({ code, outputs }).toMatchObject({
    code: 2,
    outputs: expect.stringContaining("state=cancelled\n"),
  });
});

it("says in its outputs, its log and its summary that it was rolled back", async () => {
  const rollback = [{ state: "cancelled", outcome: "rolled_back" }];
  const control = await startScriptedControl({ scenes: pausing, rollback });

  const { output, outputs, summary } = await runStep(control.url, {
    VEDETTE_ON_FAILURE: "rollback",
  });

  expect(outputs).toContain("outcome=rolled_back\n");
  expect(output).toContain("rolled_back: wave 1/2, 0 of 4 on the new image");
  expect(summary).toContain("### Rollout rolled back\n");
});

it("says in its log and its summary which failed sentinels a rollback has left alone", async () => {
  const rollback = [{ state: "cancelled", outcome: "rolled_back", still_ordered_count: 1 }];
  const control = await startScriptedControl({ scenes: pausing, rollback });

  const { output, summary } = await runStep(control.url, { VEDETTE_ON_FAILURE: "rollback" });

  const command = `npx vedette rollout rollback --include-failed --url ${control.url}`;
  const words = `1 failed and is still ordered to run the image. Next: ${command}\n`;
  expect(output).toContain(`::notice::${words}`);
  expect(summary).toContain(`- ${words}`);
});

it.each([
  ["true", { include_failed: true }],
  ["false", {}],
])("with include-failed %s the rollback is asked for %j", async (given, body) => {
  const control = await startScriptedControl({
    scenes: pausing,
    rollback: [{ state: "cancelled" }],
  });

  await runStep(control.url, { VEDETTE_ON_FAILURE: "rollback", VEDETTE_INCLUDE_FAILED: given });

  expect(control.callsOf("RollbackAll").map((call) => call.body)).toEqual([body]);
});

describe("a step that runs again while its rollout is there", () => {
  const pinned = `${image}@sha256:0`;
  const gates = [{ kind: "pause", name: "sign-off", timeout_seconds: 60 }];
  const row = { rollout_id: "r-1", image: pinned, policy: {}, wave_percentages: [50, 100], gates };
  const plan = { image: pinned, policy: { on_failure: "pause" }, gates };
  const ok = (body: unknown) => ({ status: 200, body });
  const there = (states: string[], over = {}) => ({
    before: states.map((state) => ({ state, image: pinned })),
    scenes: completing,
    replies: {
      Plan: [ok(plan)],
      History: [ok({ rollouts: [{ ...row, ...over }] })],
      Rollout: [refuse(409, "a rollout is in progress")],
    },
  });
  const again = { VEDETTE_WAVES: "50,100" };

  it("follows it to its end", async () => {
    const control = await startScriptedControl(there(["in_progress", "in_progress", "completed"]));

    const { code, output, outputs } = await runStep(control.url, again);

    expect({ code, outputs }).toMatchObject({
      code: 0,
      outputs: expect.stringContaining("state=completed\nrollout-id=r-1\n"),
    });
    expect(output).toContain("is there already: this step follows it\n");
    expect(control.callsOf("Rollout")).toEqual([]);
  });

  it("ends with 2 when it is paused", async () => {
    const control = await startScriptedControl(there(["paused"]));

    const { code, outputs } = await runStep(control.url, again);

    expect({ code, outputs }).toMatchObject({
      code: 2,
      outputs: expect.stringContaining("state=paused\nrollout-id=r-1\n"),
    });
  });

  it("does not follow a rollout that comes after it", async () => {
    const script = there(["in_progress", "in_progress"]);
    const another = { state: "in_progress", image: pinned, rollout_id: "r-9" };
    const before = [...script.before, another];
    const control = await startScriptedControl({ ...script, before });

    const { code, output } = await runStep(control.url, again);

    expect(code).toBe(1);
    expect(output).toContain("::error::another rollout has begun meanwhile\n");
  });

  it.each([
    ["of another image", { image: `${image}@sha256:1` }],
    ["with other waves", { wave_percentages: [100] }],
    ["with another gate", { gates: [{ ...gates[0], timeout_seconds: 61 }] }],
    ["without its gates", { gates: undefined }],
    ["with other options", { policy: { only: { regions: ["eu"] } } }],
    ["that has begun meanwhile", { rollout_id: "r-3" }],
  ])("is refused beside one %s", async (_, over) => {
    const control = await startScriptedControl(there(["in_progress"], over));

    const { code, output } = await runStep(control.url, again);

    expect({ code, output }).toEqual({ code: 1, output: "::error::a rollout is in progress\n" });
  });
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("says on %s that the rollout continues, and ends with %i", async (signal, expected) => {
  const scenes = Array.from({ length: 5_000 }, () => ({ state: "in_progress" }));
  const control = await startScriptedControl({ scenes });

  const { code, output, outputs, summary } = await runStep(
    control.url,
    {},
    { after: "wave 1/2", signal },
  );

  const words = "the rollout continues without this step: npx vedette rollout watch --url http";
  expect(code).toBe(expected);
  expect(output).toContain(words);
  expect(outputs).toContain("state=in_progress\nrollout-id=r-2\n");
  expect(summary).toContain(words);
});

it("says that there was nothing to do, and ends with 0", async () => {
  const reason = "nothing to do: all 12 sentinels run it already";
  const end = { state: "completed", total: 0, outcome: "completed", reason };
  const control = await startScriptedControl({ scenes: [...working, end] });

  const { code, output, outputs, summary } = await runStep(control.url);

  expect(code).toBe(0);
  expect(output).toContain("completed: nothing to do: all 12 sentinels run it already\n");
  expect(outputs).toContain("outcome=completed\n");
  expect(summary).toContain(reason);
});

it("names each thing of its options that no sentinel has, and ends with 1", async () => {
  const detail =
    "only.ids: no sentinel is called gw-99; there are gw-9\nregions: no sentinel is in x";
  const replies = { Rollout: [refuse(400, detail)] };
  const control = await startScriptedControl({ scenes: completing, replies });
  const options = JSON.stringify({ only: { ids: ["gw-99"] }, regions: ["x"] });

  const { code, output } = await runStep(control.url, { VEDETTE_OPTIONS: options });

  expect(code).toBe(1);
  expect(output).toContain("only.ids: no sentinel is called gw-99; there are gw-9%0Aregions: no");
});

it("names its input for a field of its options that there is not", async () => {
  const replies = { Rollout: [refuse(400, 'body: unknown name "soak"')] };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { output } = await runStep(control.url, { VEDETTE_OPTIONS: '{"soak": 60}' });

  expect(output).toBe('::error::options: unknown name "soak"\n');
});

it("names sentinels that could not be rolled back", async () => {
  const left = { state: "cancelled", not_reverted: [{ id: "s2", reason: "target_gone" }] };
  const control = await startScriptedControl({ scenes: pausing, rollback: [left] });

  const { output } = await runStep(control.url, { VEDETTE_ON_FAILURE: "rollback" });

  expect(output).toContain("::error::s2 still has the new image: target_gone");
});

it("cancels a paused rollout when on-failure says so, and still fails", async () => {
  const control = await startScriptedControl({ scenes: pausing });

  const { code, outputs } = await runStep(control.url, { VEDETTE_ON_FAILURE: "cancel" });

  expect(control.callsOf("Cancel")).toHaveLength(1);
  expect({ code, outputs }).toMatchObject({
    code: 2,
    outputs: expect.stringContaining("state=cancelled\n"),
  });
});

it("reports the pause when the rollback is refused", async () => {
  const replies = { RollbackAll: [refuse(409, "Resume runs")] };
  const control = await startScriptedControl({ scenes: pausing, replies });

  const { code, output, outputs } = await runStep(control.url, { VEDETTE_ON_FAILURE: "rollback" });

  expect(output).toContain("::error::rollback failed: Resume runs");
  expect({ code, outputs }).toMatchObject({ code: 2, outputs: expect.stringContaining("=paused") });
});

it("ends with 0 once the rollout has started when wait is false", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, outputs } = await runStep(control.url, { VEDETTE_WAIT: "false" });

  expect({ code, outputs }).toMatchObject({
    code: 0,
    outputs: expect.stringContaining("state=in_progress\nrollout-id=r-2\n"),
  });
});

it("repeats a call whose connection broke with the same key", async () => {
  const replies: Parameters<typeof startScriptedControl>[0]["replies"] = {
    Rollout: ["break", { status: 502, body: "<html>" }],
  };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { code } = await runStep(control.url);

  const keys = control.callsOf("Rollout").map(({ headers }) => headers["idempotency-key"]);
  expect(code).toBe(0);
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
});

it("continues when Vedette is down for a while", async () => {
  const away = { status: 503, body: {} };
  const before = { status: 200, body: { rollout_id: "r-1", state: "completed" } };
  const replies = { Status: [before, "break" as const, away, "break" as const] };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { code, output } = await runStep(control.url);

  expect(output.split("Vedette does not answer, trying again for 600 seconds\n")).toHaveLength(2);
  expect(code).toBe(0);
});

it("follows the rollout by its state when the call itself was killed", async () => {
  const control = await startScriptedControl({ scenes: pausing, isCallKilled: true });

  const { code } = await runStep(control.url);

  expect(code).toBe(2);
});

it.each([
  [
    "a wrong token",
    { INGRESS_TOKEN: "wrong" },
    "the token was refused (from the input ingress-token) by http",
  ],
  ["an empty image", { VEDETTE_IMAGE: "" }, "the input image is empty"],
  ["an empty address", { VEDETTE_CONTROL_URL: "" }, "the input control-url is empty"],
  [
    "a token of blanks",
    { INGRESS_TOKEN: " " },
    "the job gets no token of its own: give it `permissions: id-token: write`",
  ],
  ["a wrong include-failed", { VEDETTE_INCLUDE_FAILED: "1" }, "include-failed is true or false"],
  [
    "a wrong on-failure",
    { VEDETTE_ON_FAILURE: "undo" },
    "on-failure is none or rollback or cancel",
  ],
  ["a wrong wait", { VEDETTE_WAIT: "yes" }, "wait is true or false"],
  [
    "a gate without checks",
    { VEDETTE_GATE_CLEAN_RUNS: "3" },
    "gate-clean-runs and gate-timeout-seconds need gate-checks",
  ],
  [
    "a wrong count",
    { VEDETTE_GATE_CHECKS: "a", VEDETTE_GATE_CLEAN_RUNS: "x" },
    "gate-clean-runs is a whole number",
  ],
  ["wrong percentages", { VEDETTE_WAVES: "5,x" }, "wave-percentages is a list such as"],
  ["a wrong address", { VEDETTE_CONTROL_URL: "vedette" }, "control-url is an address such as"],
])("ends with 1, says why and starts nothing for %s", async (_, over, reason) => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, output } = await runStep(control.url, over);

  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining(`::error::${reason}`),
  });
  expect(control.callsOf("Rollout")).toEqual([]);
});

it("takes no line of an address for a command of the log", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const server = createServer(async (request, response) => {
    const [, called = ""] = /(\/vedette\.v1\..*)$/.exec(request.url ?? "") ?? [];
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${control.url}${called}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: await text(request),
    });
    response.end(await answer.text());
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;

  const { code, output } = await runStep(`http://127.0.0.1:${port}/\n::stop-commands::y`);

  expect(code).toBe(0);
  expect(output).not.toMatch(/^::stop-commands/m);
});

it("takes no word of a status for markup of its summary", async () => {
  const markup = "`\n\n# x <img src=y>";
  const end = { state: "completed", succeeded: markup, total: markup, failed: markup };
  const server = createServer((request, response) => {
    const isBefore = !hasAsked && request.url?.endsWith("/Status") === true;
    hasAsked ||= request.url?.endsWith("/Rollout") === true;
    const status = { ...end, rollout_id: isBefore ? "r-0" : "r-1", image: `${image}@${markup}` };
    response.end(JSON.stringify(status));
  });
  let hasAsked = false;
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");

  const { port } = server.address() as AddressInfo;
  const { summary } = await runStep(`http://127.0.0.1:${port}`);

  expect(summary).toMatch(/^### Rollout completed\n/);
  expect(summary).not.toMatch(/^# x/m);
  expect(summary.replaceAll(/`[^`\n]*`/g, "")).not.toMatch(/(?<!\\)</);
});

it("takes no word of a status for a command of the steps that get its outputs", async () => {
  const command = '"; $(id) `id` | sh; #';
  const end = { state: "completed", succeeded: command, failed: command, outcome: command };
  const control = await startScriptedControl({
    scenes: [...working, end as never],
  });

  const { outputs } = await runStep(control.url);

  expect(outputs).toMatch(/^state=completed\nrollout-id=r-2\nsucceeded= id id sh \n/);
  expect(outputs).not.toMatch(/["$`();|]/);
});

it("takes no word of a refusal for a command of the steps that get its outputs", async () => {
  const replies = { Rollout: [refuse(409, 'no: "; $(id) `id` | sh; #')] };
  const control = await startScriptedControl({ scenes: completing, replies });

  expect((await runStep(control.url)).outputs).toBe("error=no: id id sh \n");
});

it("has the reason of a refusal in its outputs and its summary", async () => {
  const replies = { Rollout: [refuse(409, "a rollout is in progress")] };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { outputs, summary } = await runStep(control.url);

  expect(outputs).toBe("error=a rollout is in progress\n");
  expect(summary).toBe("### Rollout step failed\n\na rollout is in progress\n");
});

it("says of a server that is not control that it is another one", async () => {
  const body = { error: { detail: "there is no such path" } };
  const control = await startScriptedControl({
    scenes: completing,
    replies: { Status: [{ status: 404, body }] },
  });

  const { output } = await runStep(control.url);

  expect(output).toContain(`${control.url} answered 404, and not as Vedette's control does`);
});

it("ends with 1 and the reason when the rollout is refused", async () => {
  const replies = { Rollout: [refuse(409, "a rollout is in progress")] };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { code, output } = await runStep(control.url);

  expect({ code, output }).toEqual({ code: 1, output: "::error::a rollout is in progress\n" });
});

it.each([
  { status: 503, code: "registry_unavailable" },
  { status: 424, code: "ci_unavailable" },
  { status: 409, code: "ci_pending" },
])(
  "ends with 1 and the reason when it is refused with $code, which stands for its key",
  async (refusal) => {
    const { status, code } = refusal;
    const body = { code, detail: "registry.example.com does not answer" };
    const replies = { Rollout: [{ status, body }] };
    const control = await startScriptedControl({ scenes: completing, replies });

    const end = await runStep(control.url);

    expect(end).toMatchObject({ code: 1, output: `::error::${body.detail}\n` });
    expect(control.callsOf("Rollout")).toHaveLength(1);
  },
);

it("does not accept an HTML page of another server as an answer", async () => {
  const replies = { Status: [{ status: 200, body: "<html>" }] };
  const control = await startScriptedControl({ scenes: completing, replies });

  const { code, output } = await runStep(control.url);

  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining("does not answer as"),
  });
});

it.each([
  ["prints the token only for the runner to mask it", { GITHUB_ACTIONS: "true" }, 1],
  ["never prints the token where nobody masks it", {}, 0],
])("%s", async (_, over, times) => {
  const control = await startScriptedControl({ scenes: pausing });

  const { output } = await runStep(control.url, over);

  expect(output.split(token)).toHaveLength(times + 1);
  expect(output.split(`::add-mask::${token}\n`)).toHaveLength(times + 1);
});

it.each([
  // Each of these leads to this machine, so that the token would arrive.
  "http://0.0.0.0:PORT",
  "http://[::ffff:127.0.0.1]:PORT",
  "http://0:PORT/",
  "http://2130706433.localhost:PORT",
  "http://localhost.:PORT",
  // And these elsewhere.
  "http://vedette.example.com",
  "http://127.0.0.1.example.com",
  "http://localhost.example.com",
  "http://127.0.0.1@vedette.example.com",
  "http:10.0.0.1",
])("sends no token over http to %s", async (address) => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, output } = await runStep(address.replace("PORT", new URL(control.url).port));

  expect(code).toBe(1);
  expect(output).toContain("over http the token could be read on its way");
  expect(control.callsOf("Status")).toEqual([]);
});

it.each([
  "http://user:password@localhost:PORT",
  "http://localhost:PORT/?a",
  "http://localhost:PORT#a",
])("says at once what is wrong with %s", async (address) => {
  const control = await startScriptedControl({ scenes: completing });

  const { code, output } = await runStep(address.replace("PORT", new URL(control.url).port));

  expect(code).toBe(1);
  expect(output).toContain("without a user, a query and a fragment");
});

it("calls the runner itself over http, by its name, too", async () => {
  const control = await startScriptedControl({ scenes: completing });

  const { code } = await runStep(control.url.replace("127.0.0.1", "localhost"));

  expect(code).toBe(0);
});

it("follows no redirect with its token", async () => {
  const control = await startScriptedControl({ scenes: completing });
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: control.url }).end();
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");

  const { code } = await runStep(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

  expect(code).toBe(1);
  expect(control.callsOf("Status")).toEqual([]);
});
