import { Argument, Command, Option } from "commander";
import { expect, it } from "vitest";
import { createProgram } from "#cli/command.ts";
import { completedCommands, completionScript } from "#cli/completion.ts";

const shells = ["bash", "zsh", "fish"] as const;

const program = () =>
  new Command("vedette")
    .addCommand(
      new Command("pour")
        .description("it's poured: \\o/")
        .addArgument(new Argument("<drink>").choices(["tea", "mate"]))
        .addOption(new Option("-s, --size <size>", "how much").choices(["small", "large"]))
        .option("--cup <file>", "into this")
        .option("--note <text>", "for whom")
        .option("--hot", "as it should be"),
    )
    .addCommand(new Command("secret"), { hidden: true });

it("the completion is made from commands, options and choices, and leaves out what is hidden", () => {
  const [root, pour, ...more] = completedCommands(program());

  expect(root?.subcommands).toEqual([{ name: "pour", description: "it's poured: \\o/" }]);
  expect(pour?.path).toBe("vedette pour");
  expect(pour?.argument).toEqual(["tea", "mate"]);
  expect(pour?.options.map(({ flags, value }) => [flags.join(" "), value])).toEqual([
    ["-s --size", ["small", "large"]],
    ["--cup", "path"],
    ["--note", []],
    ["--hot", undefined],
    ["-h --help", undefined],
  ]);
  expect(more).toEqual([]);
});

it("quotes what a shell would read", () => {
  expect(completionScript(program(), "zsh")).toContain("'pour:it'\\''s poured: \\o/'");
  expect(completionScript(program(), "fish")).toContain("'it\\'s poured: \\\\o/'");
});

it.each(shells)("the completion knows every command in %s", (shell) => {
  const script = completionScript(
    createProgram(() => {}),
    shell,
  );

  const paths = completedCommands(createProgram(() => {})).map(({ path }) => path);

  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((words) => !script.includes(words))).toEqual([]);
});

it.each(shells)("in %s leaves no quote open at the end of a line", (shell) => {
  const script = completionScript(
    createProgram(() => {}),
    shell,
  );

  // An escaped quote is outside of quotes in bash and zsh, within them in fish.
  const open = script
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .filter((line) => (line.replace(/\\'/g, "").match(/'/g)?.length ?? 0) % 2 === 1);

  expect(open).toEqual([]);
});
