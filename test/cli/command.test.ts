/** `vedette --help`: which commands there are, in groups. */
import { expect, it } from "vitest";
import { createProgram } from "#cli/command.ts";

const help = createProgram(() => {}).helpInformation();

/** The commands below each heading of the help. */
function groupsOf(text: string): Record<string, string[]> {
  const groups = text.split("\n\n").map((block) => block.split("\n"));
  return Object.fromEntries(
    groups.map(([heading = "", ...lines]) => [
      heading,
      lines.flatMap((line) => /^ {2}([a-z-]+)/.exec(line)?.[1] ?? []),
    ]),
  );
}

it("the help has every command in the group of its subject", () => {
  const { "Options:": _, ...groups } = groupsOf(help.slice(help.indexOf("Options:")));

  expect(groups).toEqual({
    "Rollouts:": ["rollout", "windows", "pins", "promotions"],
    "Fleet:": ["sentinels", "fleet"],
    "Monitoring:": ["status", "checks", "heartbeats", "drills", "runners", "monitor-runner"],
    "Alerts:": ["alerts"],
    "API keys:": ["workspace", "keys", "root-keys", "apis", "audit"],
    "Running it:": [
      "start",
      "migrate",
      "init",
      "identity",
      "operators",
      "doctor",
      "ci",
      "login",
      "logout",
      "whoami",
      "console",
      "config",
      "cron",
      "engine",
      "upgrade",
      "completion",
      "help",
    ],
  });
});

it("the help has each command once", () => {
  const names = createProgram(() => {}).commands.map((command) => command.name());

  for (const name of names)
    expect(help.match(new RegExp(`^ {2}${name}[ \n]`, "gm"))).toHaveLength(1);
});
