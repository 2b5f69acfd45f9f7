/** `vedette alerts alertmanager plan` and `apply` with a real Alertmanager. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFakeChat } from "../../../support/alerts/fake-chat.ts";
import { runVedette } from "../../../support/program/command.ts";
import { startProgram } from "../../../support/program/program.ts";
import { isInstalled, startAlertmanager } from "../../../support/servers/alertmanager.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const byHand = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/** An Alertmanager that was set up by hand, and the settings that name it. */
async function anAlertmanager(...args: string[]) {
  const directory = tempDir();
  const file = path.join(directory, "alertmanager.yml");
  writeFileSync(file, byHand);
  const manager = await startAlertmanager(file, ...args);
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
  return { manager, file, settings, vedette };
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

  it("is given the password that it asks for, which nobody is shown", async () => {
    const web = path.join(tempDir(), "web.yml");
    // Of "s3cret".
    const hash = "$2b$04$Z3Px6MUIdAeuARqPRW2NZ.ILBY.qvYvlCMPQ0VyutQOGjlj7YWU6e";
    writeFileSync(web, `basic_auth_users: { vedette: ${JSON.stringify(hash)} }\n`);
    const { manager, vedette } = await anAlertmanager(`--web.config.file=${web}`);
    const urlWith = (pair: string) => ({
      VEDETTE_ALERTMANAGER__PRODUCTION__URL: manager.url.replace("//", `//${pair}@`),
    });

    const wrong = await vedette("apply", urlWith("vedette:wr0ng"));
    const right = await vedette("apply", urlWith("vedette:s3cret"));

    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain("requires a user and a password: set them in its url");
    expect(wrong.stderr).not.toContain("wr0ng");
    expect(right).toMatchObject({ code: 0, stderr: "" });
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

  it("is looked at by the running program, which tells once of drift and once of its end", async () => {
    const { file, settings, vedette } = await anAlertmanager();
    await vedette("apply");
    const text = readFileSync(file, "utf8");
    const chat = await startFakeChat();
    onTestFinished(chat.stop);
    const program = await startProgram({
      ...settings,
      VEDETTE_SLACK__ALERT_ROUTES_WEBHOOK_URL: chat.url,
      VEDETTE_SLACK__MESSAGE_SPACING_MS: "0",
    });
    onTestFinished(program.dispose);
    const look = () =>
      runVedette(["cron", "run", "alertmanager-drift", "--data-dir", program.dataDir]);
    const readMetric = async () => {
      const { metrics = "" } = program.endpoints();
      const answer = await (await fetch(`${metrics}/metrics`)).text();
      return /^vedette_alertmanager_in_step\{environment="production"\} (\d)$/m.exec(answer)?.[1];
    };

    writeFileSync(file, text.replace("group_wait: 0s", "group_wait: 1h"));
    const drifted = await look();
    const metric = await readMetric();
    await look();
    await vedette("apply");
    await look();

    await waitFor(() => chat.messages.length >= 2, { withinMs: 10_000, what: "two messages" });
    expect(drifted).toMatchObject({ code: 0 });
    expect(drifted.stdout).toContain("production out of step");
    expect(metric).toBe("0");
    expect(await readMetric()).toBe("1");
    expect(chat.messages.map((message) => message.text)).toEqual([
      expect.stringContaining("(production) is out of step with the routes"),
      expect.stringContaining("(production) is in step with the routes again"),
    ]);
  });
});
