/** Files of definitions that would keep whoever reads them busy: YAML and JSON of strangers, and code beyond its own time. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { directoryOf } from "../../support/definitions/definition-files.ts";

/** In a process of its own, which can be ended. */
async function faultsIn(files: Record<string, string>): Promise<string> {
  const script = `import { readDefinitions } from "#definitions/file/read.ts";
    const [file, directory] = process.argv.slice(1);
    const end = ({ message }) => console.log(message.slice(0, 1_000));
    await readDefinitions({ file, directory, standard: { checks: [] } }).then(() => console.log("read"), end);`;
  const args = ["--no-warnings", "--input-type=module", "-e", script];
  const [file = ""] = Object.keys(files);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...args, file, directoryOf(files)],
    { timeout: 60_000 },
  );
  return stdout.trim();
}

const many = (count: number, of: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => of(i));
const doubled = many(60, (i) => `const a${i + 1} = [...a${i}, ...a${i}];`).join("\n");
const nested = many(60, (i) => `const a${i + 1} = { ...a${i}, ...a${i} };`).join("\n");
const hostile: [string, Record<string, string>, RegExp][] = [
  [
    "60,000 keys",
    { "a.yaml": `checks:\n${many(60_000, (i) => `  k${i}: null`).join("\n")}` },
    /^read$/,
  ],
  [
    "30,000 mistakes",
    { "a.json": `{"checks":{${many(30_000, (i) => `"k${i}":1`).join()}}}` },
    /checks\.k\d+: has to be a row/,
  ],
  [
    "20,000 aliases",
    { "a.yaml": many(20_000, (i) => `- &a${i} x\n- *a${i}`).join("\n") },
    /more than 2000 aliases/,
  ],
  ["comments without an end", { "a.json": `{ ${"/*".repeat(400_000)}` }, /is not valid JSON/],
  ["a text without an end", { "a.json": `{ ${'"\\'.repeat(300_000)}` }, /is not valid JSON/],
  [
    "lists of lists, each twice",
    { "a.ts": `const a0 = [];\n${doubled}\nexport default { checks: a60 };` },
    /^read$/,
  ],
  [
    "objects of objects, each twice",
    { "a.ts": `const a0 = {};\n${nested}\nexport default { checks: a60 };` },
    /^read$/,
  ],
  [
    "patterns that search the disk",
    { "a.yaml": `include: [${many(200, (i) => `"/usr/**/none-${i}.yaml"`).join()}]` },
    /matches (?:no file|too many folders)/,
  ],
];

it.each(hostile)("a file of %s is read or refused in time", async (_what, files, outcome) => {
  expect(await faultsIn(files)).toMatch(outcome);
});
