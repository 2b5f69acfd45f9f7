import {
  type CompletedCommand,
  commandPattern,
  quote,
  type ValueGroup,
  valueGroups,
} from "./tree.ts";

/** A script that zsh reads, as a file `_vedette` in a folder of `fpath` or by `source`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
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
${valueGroups(commands).map(valueCase).join("\n")}
  esac
  case "$at" in
${commands.map(wordsCase).join("\n")}
  esac
  _describe vedette found
}
# As a file of fpath it is called at once; sourced, it only has to be known.
if [ "\${funcstack[1]}" = _vedette ]; then _vedette "$@"; else compdef _vedette vedette; fi
`;
}

function valueCase({ value, pattern }: ValueGroup): string {
  return `    (${pattern}) ${actionOf(value)}return ;;`;
}

function actionOf(value: ValueGroup["value"]): string {
  if (value === "path") return "_files; ";
  return value.length === 0 ? "" : `compadd -- ${value.map(quote).join(" ")}; `;
}

/** Options are offered once a dash is there, as there are many. */
function wordsCase({ path, subcommands, options, argument }: CompletedCommand): string {
  const flags = options.flatMap(({ flags, description }) =>
    flags.map((flag) => described(flag, description)),
  );
  const words = [
    ...subcommands.map(({ name, description }) => described(name, description)),
    ...argument.map((choice) => described(choice)),
  ];
  return `    (${quote(path)})
      if [[ $PREFIX == -* ]]; then found=(${flags.join(" ")})
      else found=(${words.join(" ")}); fi ;;`;
}

/** `name:description`: a colon in the name is escaped. */
function described(name: string, description?: string): string {
  const escaped = name.replace(/[\\:]/g, "\\$&");
  return quote(description === undefined ? escaped : `${escaped}:${description}`);
}
