/** The commands, as the completion scripts need them: read from the program itself. */
import { type Command, Help, type Option } from "commander";

export type CompletedOption = {
  /** `-h` and `--help`. */
  flags: string[];
  description: string;
  /** Undefined: it takes none; "path": a file or a directory; a list: one of these, empty if any text. */
  value: undefined | "path" | readonly string[];
};

export type CompletedCommand = {
  /** The words that lead to it: `vedette rollout start`. */
  path: string;
  subcommands: { name: string; description: string }[];
  options: CompletedOption[];
  /** Choices of its first argument; empty if that is any text, or there is none. */
  argument: readonly string[];
};

/** The command, then all below it. */
export function completedCommands(command: Command, above = ""): CompletedCommand[] {
  const path = `${above} ${command.name()}`.trimStart();
  const help = new Help();
  // `help` is a command of commander's own, for which `--help` stands as well.
  const below = help.visibleCommands(command).filter((one) => one.name() !== "help");
  const own = {
    path,
    subcommands: below.map((one) => ({ name: one.name(), description: one.description() })),
    options: help.visibleOptions(command).map(toCompletedOption),
    argument: command.registeredArguments[0]?.argChoices ?? [],
  };
  return [own, ...below.flatMap((one) => completedCommands(one, path))];
}

function toCompletedOption(option: Option): CompletedOption {
  const { short, long, description, flags, argChoices } = option;
  const takesValue = option.required || option.optional;
  const isPath = /[<[](file|directory)[\]>]/.test(flags);
  return {
    flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
    description,
    value: takesValue ? (argChoices ?? (isPath ? "path" : [])) : undefined,
  };
}

/** A value that some options take, and a pattern of bash and zsh for these options, with their commands. */
export type ValueGroup = { value: "path" | readonly string[]; pattern: string };

export function valueGroups(commands: readonly CompletedCommand[]): ValueGroup[] {
  const cases = commands.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) =>
      value === undefined ? [] : flags.map((flag) => ({ value, words: `${path} ${flag}` })),
    ),
  );
  const groups = Map.groupBy(cases, ({ value }) => String(value));
  return [...groups.values()].flatMap(([first, ...more]) =>
    first === undefined
      ? []
      : [{ value: first.value, pattern: patternOf([first, ...more].map(({ words }) => words)) }],
  );
}

/** A pattern of bash and zsh for all commands but the first, which is the program itself. */
export function commandPattern(commands: readonly CompletedCommand[]): string {
  return patternOf(commands.slice(1).map(({ path }) => path));
}

function patternOf(words: readonly string[]): string {
  return words.map(quote).join(" | ");
}

/** Quotes one word of a shell, whatever it contains. Not for fish, which reads backslashes in quotes. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
