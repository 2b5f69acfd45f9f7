/** The shell step of docs/alertmanager.md, cut out of the page and run with a real Alertmanager. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { childLimitMs } from "../../support/program/command.ts";
import { isInstalled, startAlertmanager } from "../../support/servers/alertmanager.ts";
import { tempDir } from "../../support/temp-dir.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = readFileSync(path.join(root, "docs/alertmanager.md"), "utf8");
const step = /```sh\n(#!\/bin\/sh\n[\s\S]*?)```/.exec(page)?.[1] ?? "exit 99";

const byHand = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/** A pipeline whose Alertmanager was set up by hand. */
async function aPipeline() {
  const directory = tempDir();
  const file = path.join(directory, "alertmanager.yml");
  writeFileSync(file, byHand);
  const manager = await startAlertmanager(file);
  onTestFinished(manager.stop);
  const settings = {
    VEDETTE_INCIDENT__URL: "http://127.0.0.1:9",
    VEDETTE_ALERTMANAGER__PRODUCTION__SOURCE_ID: "01ABC",
    VEDETTE_ALERTMANAGER__PRODUCTION__TOKEN_FILE: path.join(directory, "token"),
    VEDETTE_ALERTMANAGER__PRODUCTION__CONFIG_FILE: file,
    VEDETTE_ALERTMANAGER__PRODUCTION__URL: manager.url,
  };
  const runStep = (event: string) =>
    run("sh", ["-c", step.replaceAll("npx vedette", path.join(root, "bin/vedette.js"))], {
      cwd: directory,
      timeout: childLimitMs,
      env: {
        PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`,
        ENVIRONMENTS: "production",
        EVENT: event,
        ...settings,
      },
    });
  return { file, runStep };
}

describe.skipIf(!isInstalled("prometheus-alertmanager", "amtool"))("the step in CI", () => {
  it("shows on a pull request what would change, and changes nothing", async () => {
    const { file, runStep } = await aPipeline();

    const { stdout } = await runStep("pull_request");

    expect(stdout).toContain("kinds of alerts reach the receivers that the routes name");
    expect(stdout).toContain("route.receiver: nobody → production/no-route");
    expect(readFileSync(file, "utf8")).toBe(byHand);
  });

  it("brings Alertmanager in step on the main branch, every time", async () => {
    const { file, runStep } = await aPipeline();

    const first = await runStep("push");
    const second = await runStep("push");

    expect(first.stdout).toContain("The file is written, and the alert manager has read it.");
    expect(second.stdout).toContain("In step: nothing was changed.");
    expect(readFileSync(file, "utf8")).toContain("production/production-alerts");
  });
});
