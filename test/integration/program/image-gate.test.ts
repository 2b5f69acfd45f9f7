/** A program whose images have to have passed CI, in front of a real registry; and its logins of registries. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RolloutPlan, RolloutStatus } from "#rollout/contract.ts";
import { startGate } from "../../support/ci/gate.ts";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { tempDir } from "../../support/temp-dir.ts";

async function startGatedProgram(environment: Record<string, string> = {}) {
  const gate = await startGate();
  const program = await startProgram({ ...gate.environment, ...environment });
  onTestFinished(() => program.dispose());
  const run = (...args: string[]) =>
    runVedette(["rollout", ...args, "--data-dir", program.dataDir], {});
  const metrics = async () => (await fetch(`${program.endpoints().metrics}/metrics`)).text();
  return { gate, program, run, metrics };
}

const resultsIn = (plan: RolloutPlan) => plan.ci.map(({ kind, result }) => [kind, result]);

describe.skipIf(!hasPrograms("docker-registry"))("an image of which everything is asked", () => {
  it("is rolled out by its digest, with what has shown that it passed CI", async () => {
    const { gate, program, run, metrics } = await startGatedProgram();
    const { image, digest } = await gate.push("v2");
    gate.report("v2", "success");
    await gate.sign(digest);

    const { status, body } = await program.call("Rollout", { image });
    const shown = await run("status");

    expect(status).toBe(200);
    const rollout = RolloutStatus.parse(body);
    expect(rollout).toMatchObject({ state: "completed", image: `${image}@${digest}` });
    expect(rollout.ci?.map(({ kind, result }) => [kind, result])).toEqual([
      ["commit", "passed"],
      ["signature", "passed"],
      ["provenance", "passed"],
      ["label", "passed"],
    ]);
    expect(shown.stdout).toMatch(/ci +commit passed: commit 76322e2e2e2e of acme\/gateway/);
    expect(shown.stdout).toMatch(/ci +provenance passed: /);
    expect(await metrics()).toContain('vedette_rollout_ci{fleet="singleton",kind="signature"} 1');
  });

  it("is rolled out by its digest alone, with the same that shows it", async () => {
    const { gate, program, run } = await startGatedProgram();
    const { image, digest } = await gate.push("v2");
    gate.report("v2", "success");
    await gate.sign(digest);
    const alone = `${image.replace(/:v2$/, "")}@${digest}`;

    const plan = RolloutPlan.parse((await program.call("Plan", { image: alone })).body);
    const { body } = await program.call("Rollout", { image: alone });
    const again = RolloutPlan.parse((await program.call("Plan", { image })).body);
    const shown = await run("status");

    expect(plan.image).toBe(alone);
    expect(resultsIn(plan).map(([, result]) => result)).toEqual(Array(4).fill("passed"));
    expect(RolloutStatus.parse(body)).toMatchObject({ state: "completed", image: alone });
    expect(again.total).toBe(0);
    expect(shown.stdout).toContain(`@${digest.slice(0, 19)}\n`);
  });

  it("is refused for what is missing, red, pending or signed by others, and the plan says so", async () => {
    const { gate, program, run } = await startGatedProgram();
    const { image, digest } = await gate.push("v3");
    gate.report("v3", "success");

    const unsigned = await program.call("Rollout", { image });
    await gate.sign(digest, { subject: "https://github.com/mallory/gateway/release.yml" });
    const foreign = await program.call("Rollout", { image });
    await gate.sign(digest);
    gate.report("v3", null);
    const pending = await program.call("Rollout", { image });
    gate.report("v3", "failure");
    const red = await program.call("Rollout", { image });
    const started = await run("start", image, "--wait");
    const planned = await run("plan", image);
    const plan = await program.call("Plan", { image });

    expect(unsigned).toMatchObject({ status: 400, body: { code: "ci_missing" } });
    expect(foreign).toMatchObject({ status: 400, body: { code: "ci_unverifiable" } });
    expect(pending).toMatchObject({ status: 409, body: { code: "ci_pending" } });
    expect(red).toMatchObject({ status: 400, body: { code: "ci_failed" } });
    expect(red.body["detail"]).toContain("failed: build");
    expect(started).toMatchObject({ code: 1, stderr: expect.stringContaining("failed: build") });
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).toContain("Rollout refuses this image");
    expect(resultsIn(RolloutPlan.parse(plan.body))).toEqual([
      ["commit", "failed"],
      ["signature", "passed"],
      ["provenance", "passed"],
      ["label", "passed"],
    ]);
    expect((await program.call("Status")).body["state"]).toBe("idle");
  });

  it("is let pass where the settings say so, and that is shown", async () => {
    const { gate, program } = await startGatedProgram({
      VEDETTE_ROLLOUT__REQUIRE_CI: "commit,signature",
      VEDETTE_CI__ALLOW: "missing,unavailable",
    });
    const { image } = await gate.push("v4");
    gate.github.commits.set(
      `acme/gateway@${Buffer.from("v4".padEnd(20, ".")).toString("hex")}`,
      (answer) => answer.writeHead(403).end("{}"),
    );

    const { body } = await program.call("Rollout", { image });

    expect(RolloutStatus.parse(body).ci).toMatchObject([
      { kind: "commit", result: "unavailable", passes: true },
      { kind: "signature", result: "missing", passes: true },
    ]);
  });
});

it("a login that cannot be used is named once in the log, whatever reads it, without its secret", async () => {
  const file = path.join(tempDir(), "config.json");
  const useless = { auth: Buffer.from("secret-word").toString("base64") };
  const auths = { "registry.example.com": useless, "ghcr.io": { username: "u", password: "p" } };
  writeFileSync(file, JSON.stringify({ auths, credHelpers: { "*.amazonaws.com": "ecr-login" } }));
  const program = await startProgram({
    VEDETTE_REGISTRY__DOCKER_CONFIG: file,
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "true",
    VEDETTE_FLEETS__STAGING__DRIVER: "process",
    VEDETTE_FLEETS__STAGING__PROCESS__SIZE: "0",
  });
  onTestFinished(() => program.dispose());

  const lines = program.output().split("\n");

  const named = lines
    .filter((line) => line.includes("registry.docker_config"))
    .map((line) => JSON.parse(line));
  expect(named).toMatchObject([
    { entry: "registry.example.com", reason: "its auth is not user:password in base64" },
    { entry: "*.amazonaws.com", reason: expect.stringContaining("the helper ecr-login") },
  ]);
  expect(program.output()).not.toMatch(/secret-word|c2VjcmV0LXdvcmQ/);
});
