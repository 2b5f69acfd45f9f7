/** `vedette alerts simulate` over our own rows, as docs/alert-routing.md calls it. */
import { expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";

it("says which routes take an alert, and who is paged", async () => {
  const { code, stdout } = await runVedette([
    "alerts",
    "simulate",
    "--source",
    "alertmanager-production",
    "--label",
    "severity=critical",
  ]);

  expect(code).toBe(0);
  expect(stdout).toMatch(/Production Warnings +no +severity is critical, not warning/);
  expect(stdout).toContain("pages Engineering On-Call; posted to #alerts");
});

it("says of every check and heartbeat who is paged", async () => {
  const { code, stdout } = await runVedette(["alerts", "simulate", "--checks"]);

  expect(code).toBe(0);
  expect(stdout).toMatch(/verify-key .*Production Alerts +Engineering On-Call +#alerts/);
  expect(stdout).toMatch(/quota-check +none/);
});

it.each([["--checks"], ["--source", "alertmanager-production"]])(
  "says that nobody is notified before incident.url is set: %s",
  async (...options) => {
    const { stdout } = await runVedette(["alerts", "simulate", ...options]);

    expect(stdout).toContain("nobody is notified there, because incident.url is not set");
  },
);

it("says nothing of that once it is set", async () => {
  const environment = { VEDETTE_INCIDENT__URL: "https://incident.example.com" };
  const { stdout } = await runVedette(["alerts", "simulate", "--checks"], environment);

  expect(stdout).not.toContain("nobody is notified");
});

it("fails for a source that there is not", async () => {
  const { code } = await runVedette(["alerts", "simulate", "--source", "nowhere"]);

  expect(code).toBe(1);
});
