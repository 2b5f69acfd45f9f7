/** The scripts of `vedette completion` in the shells that they are for. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createProgram } from "#cli/command.ts";
import { completedCommands } from "#cli/completion.ts";
import { childLimitMs, entry } from "../../../support/program/command.ts";
import { isInstalled } from "../../../support/servers/alertmanager.ts";
import { tempDir } from "../../../support/temp-dir.ts";

type Shell = "bash" | "zsh" | "fish";

function vedette(...args: string[]): string {
  return execFileSync(process.execPath, [entry, ...args], {
    encoding: "utf8",
    timeout: childLimitMs,
  });
}

function scriptFile(shell: Shell): string {
  const file = path.join(tempDir(), `vedette.${shell}`);
  writeFileSync(file, vedette("completion", shell));
  return file;
}

/** What a shell prints that has read the script, as `$1`; `code` uses it. */
function run(shell: Shell, code: string): string[] {
  const begin = {
    bash: ["--norc", "--noprofile", "-c", `source "$1"; ${code}`, "bash"],
    zsh: ["-f", "-c", `compdef() { :; }; source "$1"; ${code}`, "zsh"],
    fish: ["--no-config", "-c", `source $argv[1]; ${code}`],
  }[shell];
  const output = execFileSync(shell, [...begin, scriptFile(shell)], {
    encoding: "utf8",
    timeout: childLimitMs,
  });
  return output.split("\n").filter((line) => line !== "");
}

const words = (line: string) => line.split(" ");

/** What bash offers after each of these lines, of which the last word is unfinished. */
function offeredByBash(lines: readonly string[]): string[][] {
  const calls = lines.map((line) => {
    const quoted = words(line).map((word) => `'${word}'`);
    return `COMP_WORDS=(${quoted.join(" ")}); COMP_CWORD=${quoted.length - 1}; _vedette; echo "> \${COMPREPLY[*]}"`;
  });
  return run("bash", calls.join("\n")).map((line) => words(line).slice(1).filter(Boolean));
}

/** The functions of zsh's own completion, which here print what they are given. */
const zshPrints = `
_describe() { print -l -- "\${found[@]%%:*}"; }
compadd() { shift; print -l -- "$@"; }
_files() { print FILES; }`;

function offeredByZsh(line: string): string[] {
  const quoted = words(line).map((word) => `'${word}'`);
  const state = `words=(${quoted.join(" ")}) CURRENT=${quoted.length} PREFIX=${quoted.at(-1)}`;
  return run("zsh", `${zshPrints}\n${state}\n_vedette`);
}

function offeredByFish(line: string): string[] {
  return run("fish", `complete --do-complete '${line}'`).map((row) => row.split("\t")[0] ?? "");
}

describe("bash", () => {
  it("completes the command vedette by the script", () => {
    expect(run("bash", "complete -p vedette")).toEqual(["complete -F _vedette vedette"]);
  });

  it("offers the subcommands and the options of every command", () => {
    const commands = completedCommands(createProgram(() => {}));

    const offered = offeredByBash(commands.flatMap(({ path }) => [`${path} `, `${path} -`]));

    expect(offered).toEqual(
      commands.flatMap(({ subcommands, options, argument }) => [
        [...subcommands.map(({ name }) => name), ...argument],
        options.flatMap(({ flags }) => flags),
      ]),
    );
  });

  it("narrows them down to what was typed", () => {
    expect(offeredByBash(["vedette ro", "vedette rollout start image --w"])).toEqual([
      ["rollout", "root-keys"],
      ["--waves", "--watch-for", "--wait"],
    ]);
  });

  it("offers the choices of an option, also behind its =", () => {
    const choices = ["pause", "rollback"];

    const offered = offeredByBash([
      "vedette rollout start --on-failure ",
      "vedette rollout start --on-failure =",
      "vedette rollout start --on-failure = r",
    ]);

    expect(offered).toEqual([choices, choices, ["rollback"]]);
  });

  it("offers nothing for a value that may be any text", () => {
    expect(offeredByBash(["vedette rollout start --reason "])).toEqual([[]]);
  });
});

it("zsh's script has no fault of syntax, as far as bash can say", () => {
  const check = () => execFileSync("bash", ["-n", scriptFile("zsh")], { timeout: childLimitMs });

  expect(check).not.toThrow();
});

describe.skipIf(!isInstalled("zsh"))("zsh", () => {
  it("offers subcommands, options, choices and files", () => {
    expect(offeredByZsh("vedette completion ")).toEqual(["bash", "zsh", "fish"]);
    expect(offeredByZsh("vedette rollout ")).toContain("approve");
    expect(offeredByZsh("vedette rollout start -")).toContain("--waves");
    expect(offeredByZsh("vedette rollout start --on-failure ")).toEqual(["pause", "rollback"]);
    expect(offeredByZsh("vedette start --config ")).toEqual(["FILES"]);
  });
});

describe.skipIf(!isInstalled("fish"))("fish", () => {
  it("offers subcommands, options, choices and files", () => {
    expect(offeredByFish("vedette completion ")).toEqual(["bash", "fish", "zsh"]);
    expect(offeredByFish("vedette ro")).toEqual(["rollout", "root-keys"]);
    expect(offeredByFish("vedette rollout start --on-f")).toEqual(["--on-failure"]);
    expect(offeredByFish("vedette rollout start --on-failure ")).toEqual(["pause", "rollback"]);
    expect(offeredByFish("vedette start --config /et")).toEqual(["/etc/"]);
  });
});
