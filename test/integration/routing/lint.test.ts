/** `vedette alerts lint` over our own rows. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

function anIdsFile(text: string): Record<string, string> {
  const file = path.join(tempDir(), "ids.toml");
  writeFileSync(file, text);
  return { VEDETTE_INCIDENT__IDS_FILE: file };
}

it("finds no fault, and shows the row for severities that no route takes", async () => {
  const { code, stdout } = await runVedette(["alerts", "lint"]);

  expect(code).toBe(0);
  expect(stdout).toContain("matches no route: the alert is dropped and nobody is notified");
  expect(stdout).toContain('none_of", values: ["critical", "warning"]');
  expect(stdout).toContain("0 errors");
});

it("fails for that warning when it is strict", async () => {
  const { code } = await runVedette(["alerts", "lint", "--strict"]);

  expect(code).toBe(1);
});

it("finds a channel that has no id in the file of ids", async () => {
  const { code, stdout } = await runVedette(
    ["alerts", "lint"],
    anIdsFile('[channels]\n"#other" = "C1"\n'),
  );

  expect(code).toBe(1);
  expect(stdout).toContain(
    "error: Production Alerts: the channel #alerts has no id in incident.ids_file",
  );
});

it("takes a channel that has one", async () => {
  const { code } = await runVedette(
    ["alerts", "lint"],
    anIdsFile('[channels]\n"#alerts" = "C1"\n'),
  );

  expect(code).toBe(0);
});
