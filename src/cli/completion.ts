/** The commands, as the completion scripts need them: read from the program itself. */
import { type Command, Help, type Option } from "commander";

type CompletedOption = {
  /** `-h` and `--help`. */
  flags: string[];
  description: string;
  /** Undefined: it takes none; "path": a file or a directory; a list: one of these, empty if any text. */
  value: undefined | "path" | readonly string[];
};

type CompletedCommand = {
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
type ValueGroup = { value: "path" | readonly string[]; pattern: string };

function valueGroups(commands: readonly CompletedCommand[]): ValueGroup[] {
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
function commandPattern(commands: readonly CompletedCommand[]): string {
  return patternOf(commands.slice(1).map(({ path }) => path));
}

function patternOf(words: readonly string[]): string {
  return words.map(quote).join(" | ");
}

/** Quotes one word of a shell, whatever it contains. Not for fish, which reads backslashes in quotes. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A script that bash reads, also the version 3.2 of macOS. */
function bashScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of vedette for bash. To load it: eval "$(vedette completion bash)"
_vedette() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" at=vedette index words=
  # bash takes the = of --name=value for a word.
  if [[ $word == = ]]; then
    word=
  elif [[ $previous == = ]]; then
    previous="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
      ${commandPattern(commands)}) at+=" \${COMP_WORDS[index]}" ;;
    esac
  done
  COMPREPLY=()
  case "$at $previous" in
${valueGroups(commands).map(bashValueCase).join("\n")}
  esac
  case "$at" in
${commands.map(bashWordsCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _vedette vedette
`;
}

function bashValueCase({ value, pattern }: ValueGroup): string {
  return `    ${pattern}) ${bashActionOf(value)}return ;;`;
}

/** bash 3.2 has no compopt: there it offers no files. */
function bashActionOf(value: ValueGroup["value"]): string {
  if (value === "path") return "compopt -o default 2>/dev/null; ";
  return value.length === 0
    ? ""
    : `COMPREPLY=($(compgen -W ${quote(value.join(" "))} -- "$word")); `;
}

/** Options are offered once a dash is there, as there are many. */
function bashWordsCase({ path, subcommands, options, argument }: CompletedCommand): string {
  const flags = options.flatMap((option) => option.flags).join(" ");
  const words = [...subcommands.map(({ name }) => name), ...argument].join(" ");
  return `    ${quote(path)}) if [[ $word == -* ]]; then words=${quote(flags)}; else words=${quote(words)}; fi ;;`;
}

/** A script that fish reads: a file of its `completions` folder, or by `source`. */
function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => fishQuote(path));
  return `# Completion of vedette for fish. To load it: vedette completion fish | source
function __vedette_at --description 'Whether these words are the command so far'
    set --local at vedette
    for word in (commandline --tokenize --current-process --cut-at-cursor)[2..]
        contains -- "$at $word" ${paths.join(" ")}; and set at "$at $word"
    end
    test "$at" = "$argv"
end
complete --command vedette --no-files
${commands.flatMap(fishLinesOf).join("\n")}
`;
}

function fishLinesOf({ path, subcommands, options, argument }: CompletedCommand): string[] {
  const begin = `complete --command vedette --condition ${fishQuote(`__vedette_at ${path}`)}`;
  return [
    ...subcommands.map(
      ({ name, description }) =>
        `${begin} --arguments ${fishQuote(name)} --description ${fishQuote(description)}`,
    ),
    ...(argument.length === 0 ? [] : [`${begin} --arguments ${fishQuote(argument.join(" "))}`]),
    ...options.map(
      (option) =>
        `${begin} ${[...option.flags.map(fishToFlag), ...fishToValue(option)].join(" ")} --description ${fishQuote(option.description)}`,
    ),
  ];
}

function fishToFlag(flag: string): string {
  return flag.startsWith("--")
    ? `--long-option ${flag.slice(2)}`
    : `--short-option ${flag.slice(1)}`;
}

function fishToValue({ value }: CompletedOption): string[] {
  if (value === undefined) return [];
  if (value === "path") return ["--require-parameter --force-files"];
  return [
    "--exclusive",
    ...(value.length === 0 ? [] : [`--arguments ${fishQuote(value.join(" "))}`]),
  ];
}

/** Quotes one word of fish, in whose quotes a backslash escapes. */
function fishQuote(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

/** A script that zsh reads, as a file `_vedette` in a folder of `fpath` or by `source`. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef vedette
# Completion of vedette for zsh. To load it, after compinit: source <(vedette completion zsh)
_vedette() {
  local at=vedette word previous=\${words[CURRENT-1]}
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${commandPattern(commands)}) at+=" $word" ;;
    esac
  done
  case "$at $previous" in
${valueGroups(commands).map(zshValueCase).join("\n")}
  esac
  case "$at" in
${commands.map(zshWordsCase).join("\n")}
  esac
  _describe vedette found
}
# As a file of fpath it is called at once; sourced, it only has to be known.
if [ "\${funcstack[1]}" = _vedette ]; then _vedette "$@"; else compdef _vedette vedette; fi
`;
}

function zshValueCase({ value, pattern }: ValueGroup): string {
  return `    (${pattern}) ${zshActionOf(value)}return ;;`;
}

function zshActionOf(value: ValueGroup["value"]): string {
  if (value === "path") return "_files; ";
  return value.length === 0 ? "" : `compadd -- ${value.map(quote).join(" ")}; `;
}

/** Options are offered once a dash is there, as there are many. */
function zshWordsCase({ path, subcommands, options, argument }: CompletedCommand): string {
  const flags = options.flatMap(({ flags, description }) =>
    flags.map((flag) => zshDescribed(flag, description)),
  );
  const words = [
    ...subcommands.map(({ name, description }) => zshDescribed(name, description)),
    ...argument.map((choice) => zshDescribed(choice)),
  ];
  return `    (${quote(path)})
      if [[ $PREFIX == -* ]]; then found=(${flags.join(" ")})
      else found=(${words.join(" ")}); fi ;;`;
}

/** `name:description`: a colon in the name is escaped. */
function zshDescribed(name: string, description?: string): string {
  const escaped = name.replace(/[\\:]/g, "\\$&");
  return quote(description === undefined ? escaped : `${escaped}:${description}`);
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
/** `vedette completion`: prints a script by which a shell completes the commands. */
export type Shell = keyof typeof scripts;

export function completionScript(program: Command, shell: Shell): string {
  return scripts[shell](completedCommands(program));
}
