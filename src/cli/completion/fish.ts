import type { CompletedCommand, CompletedOption } from "./tree.ts";

/** A script that fish reads: a file of its `completions` folder, or by `source`. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => quote(path));
  return `# Completion of vedette for fish. To load it: vedette completion fish | source
function __vedette_at --description 'Whether these words are the command so far'
    set --local at vedette
    for word in (commandline --tokenize --current-process --cut-at-cursor)[2..]
        contains -- "$at $word" ${paths.join(" ")}; and set at "$at $word"
    end
    test "$at" = "$argv"
end
complete --command vedette --no-files
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, subcommands, options, argument }: CompletedCommand): string[] {
  const begin = `complete --command vedette --condition ${quote(`__vedette_at ${path}`)}`;
  return [
    ...subcommands.map(
      ({ name, description }) =>
        `${begin} --arguments ${quote(name)} --description ${quote(description)}`,
    ),
    ...(argument.length === 0 ? [] : [`${begin} --arguments ${quote(argument.join(" "))}`]),
    ...options.map(
      (option) =>
        `${begin} ${[...option.flags.map(toFlag), ...toValue(option)].join(" ")} --description ${quote(option.description)}`,
    ),
  ];
}

function toFlag(flag: string): string {
  return flag.startsWith("--")
    ? `--long-option ${flag.slice(2)}`
    : `--short-option ${flag.slice(1)}`;
}

function toValue({ value }: CompletedOption): string[] {
  if (value === undefined) return [];
  if (value === "path") return ["--require-parameter --force-files"];
  return ["--exclusive", ...(value.length === 0 ? [] : [`--arguments ${quote(value.join(" "))}`])];
}

/** Quotes one word of fish, in whose quotes a backslash escapes. */
function quote(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
