/** A document that is followed from its top: files to write, commands to type, programs to start and to stop. */

export type Step =
  | { kind: "write"; file: string; text: string }
  | { kind: "type"; text: string; exitCode: number; shown: string[] }
  | { kind: "start"; terminal: string; text: string; shown: string[] }
  | { kind: "stop"; terminal: string };

/**
 * In the order of the page: blocks after a line that ends with the name of a file and a colon; blocks of `sh`, of which
 * those that begin with `# terminal 1` keep running, each with the block of `text` that follows, what is shown;
 * and sentences as "Press Ctrl-C in terminal 1."
 */
export function stepsOf(page: string): Step[] {
  return [...page.matchAll(step)].map(({ groups = {} }): Step => {
    const { file, content = "", stopped, commands = "", shown = "" } = groups;
    if (stopped !== undefined) return { kind: "stop", terminal: stopped };
    if (file !== undefined) return { kind: "write", file, text: content };
    const lines = shown.split("\n").filter((line) => line !== "");
    const [, terminal] = /^# terminal (\d)\n/.exec(commands) ?? [];
    if (terminal !== undefined) return { kind: "start", terminal, text: commands, shown: lines };
    const [, code = "0"] = /# exit code (\d+)/.exec(commands) ?? [];
    return { kind: "type", text: commands, exitCode: Number(code), shown: lines };
  });
}

const step = new RegExp(
  [
    /`(?<file>[\w.]+)`:\n\n```(?:js|ts|toml)\n(?<content>[\s\S]*?)^```$/,
    /^```sh\n(?<commands>[\s\S]*?)^```$(?:\n\n```text\n(?<shown>[\s\S]*?)^```$)?/,
    /Press Ctrl-C in terminal (?<stopped>\d)\./,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);

/** The first line that the output does not have after the ones before it; `…` stands for any text, blanks for blanks. */
export function findUnsaid(shown: readonly string[], output: string): string | undefined {
  let rest = output;
  return shown.find((line) => {
    const found = patternOf(line).exec(rest);
    rest = found === null ? rest : rest.slice(found.index + found[0].length);
    return found === null;
  });
}

function patternOf(line: string): RegExp {
  const parts = line
    .trim()
    .split("…")
    .map((part) => part.trim().split(/\s+/).map(quote).join("[ \\t]+"));
  return new RegExp(parts.join(".*"), "i");
}

function quote(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
