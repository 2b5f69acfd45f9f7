/** Runs the shell step of docs/ci.md unchanged with a scripted control. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { hasPrograms } from "../../support/servers/programs.ts";
import { runChild } from "./run-child.ts";
import { image, refuse, startScriptedControl, token } from "./scripted-control.ts";

const page = fileURLToPath(new URL("../../../docs/ci.md", import.meta.url));
const step = /```sh\n(#!\/bin\/sh\n[\s\S]*?)```/.exec(readFileSync(page, "utf8"))?.[1] ?? "exit 99";

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

describe.skipIf(!hasPrograms("curl", "jq"))("the shell step of docs/ci.md", () => {
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
    const { code, output } = await runStep("http://127.0.0.1:1");

    expect({ code, output }).toEqual({ code: 1, output: "Vedette cannot be reached\n" });
  });

  it("ends with 1 for an HTML page of another server", async () => {
    const replies = { Rollout: [{ status: 200, body: "<html>" }] };
    const control = await startScriptedControl({ scenes: working, replies });

    const { code } = await runStep(control.url);

    expect(code).toBe(1);
  });

  it("keeps the token out of the arguments of its commands", async () => {
    const control = await startScriptedControl({ scenes: [...working, { state: "completed" }] });

    const { output } = await runChild(["sh", "-xc", step], {
      VEDETTE_CONTROL_URL: control.url,
      INGRESS_TOKEN: token,
      IMAGE: image,
      POLL_SECONDS: "0.2",
    });

    const programs = output.split("\n").filter((line) => /^\+ (curl|jq|od|tr) /.test(line));
    expect(programs.length).toBeGreaterThan(0);
    expect(programs.filter((line) => line.includes(token))).toEqual([]);
  });
});
