/** `vedette alerts alertmanager plan` and `apply` with a real Alertmanager. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isInstalled, startAlertmanager } from "../../support/alertmanager.ts";
import { runVedette } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const byHand = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/** An Alertmanager that was set up by hand, and the settings that name it. */
async function anAlertmanager() {
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
    VEDETTE_ALERTMANAGER__PRODUCTION__RELOAD_TIMEOUT_SECONDS: "2",
  };
  const vedette = (verb: "plan" | "apply", over: Record<string, string> = {}) =>
    runVedette(["alerts", "alertmanager", verb, "--environment", "production"], {
      ...settings,
      ...over,
    });
  return { manager, file, vedette };
}

describe.skipIf(!isInstalled("prometheus-alertmanager"))("an alert manager", () => {
  it("is brought in step, and stays there", async () => {
    const { vedette } = await anAlertmanager();

    const before = await vedette("plan");
    const apply = await vedette("apply");
    const after = await vedette("plan");
    const again = await vedette("apply");

    expect(before.code).toBe(2);
    expect(before.stdout).toContain("route.receiver: nobody → production/no-route");
    expect(apply).toMatchObject({ code: 0, stderr: "" });
    expect(apply.stdout).toContain("The file is written, and the alert manager has read it.");
    expect(after).toMatchObject({ code: 0 });
    expect(again.stdout).toBe("In step: nothing was changed.\n");
  });

  it("is out of step when someone edits its file, and when it has not read it", async () => {
    const { vedette, file } = await anAlertmanager();
    await vedette("apply");
    const text = readFileSync(file, "utf8");

    writeFileSync(file, text.replace("group_wait: 0s", "group_wait: 1h"));
    const edited = await vedette("plan");
    writeFileSync(file, `# a comment\n${text}`);
    const unread = await vedette("plan");
    const apply = await vedette("apply");

    expect(edited.code).toBe(2);
    expect(edited.stdout).toContain("[production/production-alerts].group_wait: 1h → 0s");
    expect(unread.code).toBe(2);
    expect(unread.stdout).toContain("it has to reload");
    expect(apply.stdout).toContain("The file was in step; the alert manager has read it.");
    expect(readFileSync(file, "utf8")).toContain("# a comment");
  });

  it("keeps its configuration when it reads another file than the one that was written", async () => {
    const { vedette } = await anAlertmanager();
    const elsewhere = path.join(tempDir(), "other.yml");
    writeFileSync(elsewhere, byHand);

    const { code, stderr } = await vedette("apply", {
      VEDETTE_ALERTMANAGER__PRODUCTION__CONFIG_FILE: elsewhere,
    });

    expect(code).toBe(1);
    expect(stderr).toContain("is config_file the file that it reads?; the old configuration is");
    expect(readFileSync(elsewhere, "utf8")).toBe(byHand);
  });

  it("is unknown, and no file is changed, while it is away", async () => {
    const { vedette, manager, file } = await anAlertmanager();
    await vedette("apply");
    await manager.stop();

    const { code, stdout } = await vedette("plan");

    expect(code).toBe(1);
    expect(stdout).toContain("is unknown: the alert manager at");
    rmSync(file);
    const apply = await vedette("apply");
    expect(apply.code).toBe(1);
    expect(apply.stderr).toContain("cannot be reached (ECONNREFUSED); the old configuration is");
  });
});
