import {
  type CompletedCommand,
  commandPattern,
  quote,
  type ValueGroup,
  valueGroups,
} from "./tree.ts";

/** A script that bash reads, also the version 3.2 of macOS. */
export function bashScript(commands: readonly CompletedCommand[]): string {
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
${valueGroups(commands).map(valueCase).join("\n")}
  esac
  case "$at" in
${commands.map(wordsCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _vedette vedette
`;
}

function valueCase({ value, pattern }: ValueGroup): string {
  return `    ${pattern}) ${actionOf(value)}return ;;`;
}

/** bash 3.2 has no compopt: there it offers no files. */
function actionOf(value: ValueGroup["value"]): string {
  if (value === "path") return "compopt -o default 2>/dev/null; ";
  return value.length === 0
    ? ""
    : `COMPREPLY=($(compgen -W ${quote(value.join(" "))} -- "$word")); `;
}

/** Options are offered once a dash is there, as there are many. */
function wordsCase({ path, subcommands, options, argument }: CompletedCommand): string {
  const flags = options.flatMap((option) => option.flags).join(" ");
  const words = [...subcommands.map(({ name }) => name), ...argument].join(" ");
  return `    ${quote(path)}) if [[ $word == -* ]]; then words=${quote(flags)}; else words=${quote(words)}; fi ;;`;
}
