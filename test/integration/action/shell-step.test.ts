/** Runs the shell step of examples/ci-pipeline unchanged with a scripted control. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { hasPrograms } from "../../support/servers/programs.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { runChild } from "./run-child.ts";
import { image, refuse, startScriptedControl, token } from "./scripted-control.ts";

const step = readFileSync("examples/ci-pipeline/rollout.sh", "utf8");

const working = [{ state: "in_progress" }, { state: "in_progress", succeeded: 2 }];

function runStep(url: string, over: Record<string, string> = {}) {
  return runChild(["sh", "-c", step], {
    VEDETTE_CONTROL_URL: url,
    INGRESS_TOKEN: token,
    IMAGE: image,
    POLL_SECONDS: "0.2",
    AWAY_TRIES: "4",
    ...over,
  });
}

/** For an answer that is told once only: a slow machine must not miss it. */
const patient = { POLL_SECONDS: "20" };

describe.skipIf(!hasPrograms("curl", "jq"))("the shell step of examples/ci-pipeline", () => {
  it.each([
    ["completed", 0],
    ["paused", 2],
    ["cancelled", 3],
  ])("exits with the code of the rollout's state: %s is %i", async (state, expected) => {
    const control = await startScriptedControl({ scenes: [...working, { state, succeeded: 3 }] });

    const { code, output } = await runStep(control.url);

    expect(output).toContain("in_progress: 2 of 4 on the new image, 0 failed\n");
    expect({ code, output }).toEqual({
      code: expected,
      output: expect.stringContaining(`${state}: 3 of 4 on the new image, 0 failed\n`),
    });
  });

  it("names failed sentinels with their reasons", async () => {
    const paused = { state: "paused", succeeded: 3, failed: 1 };
    const control = await startScriptedControl({ scenes: [...working, paused] });

    const { output } = await runStep(control.url);

    expect(output).toContain("s|1: crash_loop: exit\ncode 1\n");
  });

  it("prints no command of a CI that somebody's words have", async () => {
    const words = "##vso[task.setvariable variable=PATH]x\n::set-output name=a::b";
    const failed_sentinels = [{ id: "::add-mask::e", reason: words }];
    const end = { state: "completed", total: 0, reason: words, failed_sentinels };
    const control = await startScriptedControl({ scenes: [...working, end] });
    const refused = await startScriptedControl({
      scenes: working,
      replies: { Rollout: [refuse(409, words)] },
    });

    const outputs = [(await runStep(control.url)).output, (await runStep(refused.url)).output];

    expect(outputs.join()).toContain("[task.setvariable variable=PATH]x");
    expect(outputs.join()).not.toMatch(/##|::/);
  });

  it("uses one key for all attempts of a call", async () => {
    const control = await startScriptedControl({
      scenes: [...working, { state: "completed" }],
      replies: { Rollout: ["break", { status: 502, body: "<html>" }], Status: ["break"] },
    });

    const { code } = await runStep(control.url);

    const calls = control.callsOf("Rollout");
    expect(code).toBe(0);
    expect(calls.length).toBeGreaterThanOrEqual(3);
    expect(new Set(calls.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(calls[0]?.body).toEqual({ image });
  });

  it.each([
    ["the trace of its pipeline", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    ["no trace where there is none", undefined],
  ])("passes on %s", async (_, traceparent) => {
    const control = await startScriptedControl({ scenes: [{ state: "completed" }] });

    await runStep(control.url, { ...patient, ...(traceparent && { TRACEPARENT: traceparent }) });

    expect(control.callsOf("Rollout")[0]?.headers["traceparent"]).toBe(traceparent);
  });

  it("ends with 1 and the reason when it is refused", async () => {
    const replies = { Rollout: [refuse(409, "a rollout is in progress")] };
    const control = await startScriptedControl({ scenes: working, replies });

    const { code, output } = await runStep(control.url, patient);

    expect({ code, output }).toEqual({ code: 1, output: "a rollout is in progress\n" });
  });

  it.each([
    { status: 503, code: "registry_unavailable" },
    { status: 424, code: "ci_unavailable" },
    { status: 409, code: "ci_pending" },
  ])("ends with 1 when it is refused with $code, which stands for its key", async (refusal) => {
    const { status, code } = refusal;
    const body = { code, detail: "registry.example.com does not answer" };
    const control = await startScriptedControl({
      scenes: working,
      replies: { Rollout: [{ status, body }] },
    });

    const end = await runStep(control.url, patient);

    expect(end).toMatchObject({ code: 1, output: "registry.example.com does not answer\n" });
    expect(control.callsOf("Rollout")).toHaveLength(1);
  });

  it("ends with 1 when no server answers", async () => {
    const away = "Vedette cannot be reached; a rollout that has begun continues\n";

    const { code, output } = await runStep("http://127.0.0.1:1");

    expect({ code, output }).toEqual({ code: 1, output: away });
  });

  it("says that there was nothing to do", async () => {
    const reason = "nothing to do: all 12 sentinels run it already";
    const end = { state: "completed", total: 0, reason };
    const control = await startScriptedControl({ scenes: [...working, end] });

    const { code, output } = await runStep(control.url);

    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringContaining(`completed: ${reason}\n`),
    });
  });

  it("takes an address with a slash at its end", async () => {
    const control = await startScriptedControl({ scenes: [...working, { state: "completed" }] });

    const { code } = await runStep(`${control.url}/`);

    expect(code).toBe(0);
    expect(control.callsOf("Rollout").length).toBeGreaterThan(0);
  });

  it("says of a server that is not control that it is another one", async () => {
    const replies = { Rollout: [{ status: 404, body: { error: {} } }] };
    const control = await startScriptedControl({ scenes: working, replies });

    const { code, output } = await runStep(control.url, patient);

    expect({ code, output }).toEqual({
      code: 1,
      output: `${control.url} answered 404, and not as Vedette's control does\n`,
    });
  });

  it("warns before it sends its token over http to another machine", async () => {
    const { output } = await runStep("http://vedette.invalid", { AWAY_TRIES: "1" });

    expect(output).toContain("over http the token can be read on its way\n");
  });

  it("rolls a paused rollout back when it shall, says what is left, and ends with 2", async () => {
    const paused = { state: "paused", succeeded: 3, failed: 1 };
    const end = {
      ...{ state: "cancelled", outcome: "rolled_back" },
      not_reverted: [{ id: "s2", reason: "target_gone" }],
      still_ordered: [{ id: "s|1", reason: "crash_loop" }],
    };
    const control = await startScriptedControl({
      scenes: [...working, paused],
      rollback: [{ state: "rolling_back" }, end],
    });

    const { code, output } = await runStep(control.url, { ON_FAILURE: "rollback" });

    expect(code).toBe(2);
    expect(output).toContain("rolled back: 0 of 4 on the new image, 0 failed\n");
    expect(output).toContain("s2 still has the new image: target_gone\n");
    expect(output).toContain("s|1 failed and is still ordered to run the new image: crash_loop\n");
  });

  it("leaves a paused rollout alone otherwise", async () => {
    const control = await startScriptedControl({ scenes: [...working, { state: "paused" }] });

    await runStep(control.url);

    expect(control.callsOf("RollbackAll")).toEqual([]);
  });

  it("ends with 1 for an HTML page of another server", async () => {
    const replies = { Rollout: [{ status: 200, body: "<html>" }] };
    const control = await startScriptedControl({ scenes: working, replies });

    const { code } = await runStep(control.url);

    expect(code).toBe(1);
  });

  it("keeps the token out of the arguments of its commands", async () => {
    const control = await startScriptedControl({ scenes: [...working, { state: "completed" }] });
    const folder = tempDir();
    const seen = path.join(folder, "seen");
    for (const name of ["curl", "jq", "od", "tr"]) {
      const script = `#!/bin/sh\necho "$0 $*" >>${seen}\nPATH=\${PATH#*:} exec ${name} "$@"\n`;
      writeFileSync(path.join(folder, name), script, { mode: 0o755 });
    }

    await runStep(control.url, { PATH: `${folder}:${process.env["PATH"]}` });

    const calls = readFileSync(seen, "utf8");
    expect(calls).toContain(`${folder}/curl -s`);
    expect(calls).not.toContain(token);
  });
});
