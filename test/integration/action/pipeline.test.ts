/** The GitHub Action's script and the shell step of docs/ci.md, as child processes before a scripted control. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const image = "registry.example.com/vedette/sentinel:v2";

type Step = { state: string; succeeded: number; failed?: number } | "break";

/** What control answers whatever the state. */
const fixed: Record<string, [number, unknown]> = {
  Plan: [200, { total: 4, waves: [{ size: 2 }, { size: 2 }] }],
  "Rollout/send": [202, { invocationId: "inv_1", status: "Accepted" }],
  "RollbackAll/send": [202, { invocationId: "inv_2", status: "Accepted" }],
};

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Control that has a finished rollout, and after `Rollout/send` goes through these steps. */
async function startControl(steps: Step[]) {
  const calls: { handler: string; body: unknown }[] = [];
  let isBegun = false;
  const status = (step: Exclude<Step, "break">) => ({
    rollout_id: isBegun ? "r-2" : "r-1",
    image,
    current_wave: 1,
    total_waves: 2,
    total: 4,
    in_flight: 0,
    failed: 0,
    failed_sentinels: (step.failed ?? 0) > 0 ? [{ id: "s1", reason: "oom_killed" }] : [],
    ...step,
  });
  /** undefined breaks the connection. */
  const reply = (handler: string): [number, unknown] | undefined => {
    if (handler in fixed) return fixed[handler];
    if (!isBegun) return [200, status({ state: "completed", succeeded: 4 })];
    const step = steps.length > 1 ? steps.shift() : steps[0];
    return step === undefined || step === "break" ? undefined : [200, status(step)];
  };
  const server = createServer(async (incoming, outgoing) => {
    const handler = (incoming.url ?? "").split("/singleton/")[1] ?? "";
    calls.push({ handler, body: await readBody(incoming) });
    const isToken = incoming.headers.authorization === "Bearer tok";
    const answer = isToken ? reply(handler) : ([401, { detail: "no" }] as const);
    if (handler === "Rollout/send") isBegun = true;
    if (answer === undefined) {
      incoming.socket.resetAndDestroy();
      return;
    }
    outgoing.writeHead(answer[0], { "content-type": "application/json" });
    outgoing.end(JSON.stringify(answer[1]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function run(command: string, args: string[], environment: Record<string, string>) {
  const child = spawn(command, args, {
    env: { PATH: process.env["PATH"], ...environment },
    timeout: 60_000,
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

const working: Step[] = [
  { state: "in_progress", succeeded: 0 },
  { state: "in_progress", succeeded: 2 },
];

describe("the action's step", () => {
  const act = async (url: string, over: Record<string, string> = {}) => {
    const directory = tempDir();
    const [output, summary] = ["output", "summary"].map((name) => path.join(directory, name));
    for (const file of [output, summary]) writeFileSync(file ?? "", "");
    const result = await run(process.execPath, [path.join(root, "action/rollout.mjs")], {
      VEDETTE_CONTROL_URL: url,
      INGRESS_TOKEN: "tok",
      VEDETTE_IMAGE: image,
      VEDETTE_WAVES: "50,100",
      VEDETTE_POLL_MS: "10",
      GITHUB_OUTPUT: output ?? "",
      GITHUB_STEP_SUMMARY: summary ?? "",
      ...over,
    });
    return {
      ...result,
      outputs: readFileSync(output ?? "", "utf8"),
      summary: readFileSync(summary ?? "", "utf8"),
    };
  };

  it("starts the rollout and ends with 0 when it completes", async () => {
    const control = await startControl([...working, { state: "completed", succeeded: 4 }]);

    const { code, outputs } = await act(control.url);

    const begun = control.calls.find(({ handler }) => handler === "Rollout/send");
    expect(code).toBe(0);
    expect(begun?.body).toEqual({ image, wave_percentages: [50, 100] });
    expect(outputs).toBe("state=completed\nrollout-id=r-2\nsucceeded=4\nfailed=0\n");
  });

  it("ends with 2 and names failed sentinels when it pauses", async () => {
    const control = await startControl([...working, { state: "paused", succeeded: 3, failed: 1 }]);

    const { code, summary } = await act(control.url);

    expect(code).toBe(2);
    expect(summary).toContain("| s1 | oom_killed |");
  });

  it("rolls a paused rollout back when it is told to, and still fails", async () => {
    const control = await startControl([
      ...working,
      { state: "paused", succeeded: 3, failed: 1 },
      { state: "rolling_back", succeeded: 1, failed: 1 },
      { state: "cancelled", succeeded: 0, failed: 1 },
    ]);

    const { code, outputs } = await act(control.url, { VEDETTE_ON_FAILURE: "rollback" });

    expect(control.calls.some(({ handler }) => handler === "RollbackAll/send")).toBe(true);
    expect(outputs).toContain("state=cancelled");
    expect(code).toBe(2);
  });

  it("goes on when the connection is lost", async () => {
    const steps: Step[] = [...working, "break", "break", { state: "completed", succeeded: 4 }];
    const control = await startControl(steps);

    const { code, output } = await act(control.url);

    expect(output).toContain("connection lost, trying again");
    expect(code).toBe(0);
  });

  it("ends with 1 and says why when it is refused", async () => {
    const control = await startControl([]);

    const { code, output } = await act(control.url, { INGRESS_TOKEN: "wrong" });

    expect(code).toBe(1);
    expect(output).toContain("::error::no");
  });
});

const lacking = ["curl", "jq"].filter((name) => spawnSync(name, ["--version"]).status !== 0);
if (lacking.length > 0) {
  process.stdout.write(`skipped: the shell step of docs/ci.md needs ${lacking.join(" and ")}\n`);
}

describe.skipIf(lacking.length > 0)("the shell step of docs/ci.md", () => {
  const step = /```sh\n(#!\/bin\/sh\n[\s\S]*?)```/.exec(
    readFileSync(path.join(root, "docs/ci.md"), "utf8"),
  )?.[1];

  const execute = (url: string) =>
    run("sh", ["-c", step ?? "exit 99"], {
      VEDETTE_CONTROL_URL: url,
      INGRESS_TOKEN: "tok",
      IMAGE: image,
      POLL_SECONDS: "0.05",
    });

  it.each([
    ["completed", 0],
    ["paused", 2],
    ["cancelled", 3],
  ])("ends as the rollout does: %s is %i", async (state, expected) => {
    const control = await startControl([...working, { state, succeeded: 3, failed: 1 }]);

    const { code, output } = await execute(control.url);

    expect(output).toContain("in_progress: 2 of 4 sentinels ready, 0 failed");
    expect(code).toBe(expected);
  });
});
