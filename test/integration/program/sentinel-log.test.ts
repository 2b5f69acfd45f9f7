/** The whole way of a log: a local sentinel crashes, and the command line says what it has printed. */
import { expect, it, onTestFinished } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";

const image = "registry.example.com/vedette/sentinel:v2-crash";

it("of a local sentinel that crashed is there after a kill of the program, and that of the one that runs", async () => {
  const program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "1",
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  });
  onTestFinished(program.dispose);
  const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });
  await vedette("rollout", "start", image, "--wait");
  program.kill9("main");
  await program.start();

  const status = await vedette("rollout", "status");
  const failed = await vedette("sentinels", "log", "sentinel-01");
  const running = await vedette("sentinels", "log", "sentinel-01", "--running");

  expect(status.stdout).toContain("why: npx vedette sentinels log sentinel-01");
  expect(failed.stdout).toMatch(
    /^sentinel sentinel-01 starts with \S+:v2-crash\nerror: this image crashes, as its tag says\n$/,
  );
  expect(failed.stderr).toMatch(/^sentinel-01, \S+:v2-crash, \S+: crash_loop: exit code 1\n$/);
  expect(running.stdout).toMatch(/sentinel-01 starts with \S+:v1\nserving on port \d+\n$/);
});
