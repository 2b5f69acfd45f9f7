/** Operators with roles, and the approval of a wave from the command line, before the whole program. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { tempDir } from "../../support/temp-dir.ts";

const image = "registry.example.com/vedette/sentinel:v2";

const holders = {
  ada: ["read", "operate"],
  ben: ["approve"],
  cem: ["read"],
  dora: ["configure"],
} as const;
type Name = keyof typeof holders;

let program: Program;
const tokens = {} as Record<Name, string>;

beforeAll(async () => {
  const environment: Record<string, string> = { VEDETTE_FLEET__PROCESS__SIZE: "4" };
  for (const [name, roles] of Object.entries(holders)) {
    const added = await runVedette(
      ["operators", "add", name, "--roles", roles.join(), "--json"],
      {},
    );
    const { token, token_hash: hash, roles: held } = JSON.parse(added.stdout);
    tokens[name as Name] = token;
    const setting = `VEDETTE_CONTROL__OPERATORS__${name.toUpperCase()}`;
    Object.assign(environment, { [`${setting}__TOKEN`]: hash, [`${setting}__ROLES`]: held.join() });
  }
  program = await startProgram(environment);
});

afterAll(() => program?.dispose());

const run = (as: Name, ...args: string[]) =>
  runVedette(args, { VEDETTE_DATA_DIR: program.dataDir, INGRESS_TOKEN: tokens[as] });

describe("vedette operators add", () => {
  it("prints the token alone to stdout, and the setting without the token", async () => {
    const { stdout, stderr, code } = await runVedette(["operators", "add", "fay"], {});

    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(
      /below \[control\.operators\].*\n"fay" = \{ token = "sha256:[0-9a-f]{64}", roles = \["read", "operate", "approve", "notify", "configure"\] \}/,
    );
    expect(stderr).not.toContain(stdout.trim());
  });

  it.each([
    [["Dora"], "Dora must be a lower-case name"],
    [["ingress-token"], "ingress-token is the name of the ingress token"],
    [["dora", "--roles", "admin"], "For example: read,approve"],
  ])("refuses %j", async (args, words) => {
    const { code, stdout, stderr } = await runVedette(["operators", "add", ...args], {});

    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(words);
  });
});

describe("a rollout with approvals", () => {
  it("is approved by another operator from the command line", async () => {
    const request = [image, "--waves", "50,100", "--approvals", "after_first"];
    const plan = await run("cem", "rollout", "plan", ...request);
    const reader = await run("cem", "rollout", "start", ...request);
    const started = run("ada", "rollout", "start", ...request, "--wait");
    await expect
      .poll(async () => (await run("cem", "rollout", "status")).stdout, { timeout: 60_000 })
      .toContain("waits for  the approval");
    const waiting = await run("cem", "rollout", "status");
    const own = await run("ada", "rollout", "approve");
    const other = await run("ben", "rollout", "approve", "--wave", "1");
    const approved = await run(
      "ben",
      "rollout",
      "approve",
      "--wave",
      "2",
      "--reason",
      "it is fine",
    );
    const { stdout, code } = await started;

    expect(plan.stdout).toMatch(/2 .*100 %.*after an approval/);
    expect(reader).toMatchObject({ code: 1, stderr: expect.stringContaining("takes operate") });
    expect(waiting.stdout).toMatch(/npx vedette rollout approve --rollout \S{36} --wave 2\n/);
    expect(own.stderr).toContain("ada may read, operate; this call takes approve");
    expect(other.stderr).toContain("waits for an approval of wave 2 by now");
    expect(approved).toMatchObject({ code: 0 });
    expect([stdout, code]).toEqual([
      expect.stringContaining("approved   wave 2 by ben: it is fine"),
      0,
    ]);
  });
});

describe("definitions and runners", () => {
  const file = () => {
    const config = path.join(tempDir(), "vedette.config.yaml");
    writeFileSync(config, "checks:\n  home:\n    kind: tcp\n    host: 192.0.2.1\n    port: 80\n");
    return config;
  };
  const missing = "ada may read, operate; this call takes configure (control.operators)";

  it("are planned, but not changed by whoever may only operate", async () => {
    const config = file();

    const plan = await run("ada", "config", "plan", "--config", config);
    const apply = await run("ada", "config", "apply", "--config", config);
    const runner = await run("ada", "runners", "add", "fra");

    expect(plan.code).toBe(2);
    expect(apply).toMatchObject({ code: 1, stderr: expect.stringContaining(missing) });
    expect(runner).toMatchObject({ code: 1, stderr: expect.stringContaining(missing) });
  });

  it("are changed by whoever may configure, who starts no rollout", async () => {
    const apply = await run("dora", "config", "apply", "--config", file());
    const runner = await run("dora", "runners", "add", "fra");
    const rollout = await run("dora", "rollout", "start", image);

    expect([apply.code, runner.code]).toEqual([2, 0]);
    expect(rollout).toMatchObject({ code: 1, stderr: expect.stringContaining("takes operate") });
  });
});
