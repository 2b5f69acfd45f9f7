/** Every command line in every document, held against the program: nothing is run. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { createProgram } from "#cli/command.ts";
import { blockLinesOf, type Document, documents, proseOf } from "./support/repository/documents.ts";

/** What stands for a value that a reader has to put in. */
const placeholders: Record<string, string> = {
  $environment: "production",
  "build/$environment": "build",
};

const called =
  /(?:^|[\s(])(?:npx|exec vedette) vedette ((?:"[^"]*"|'[^']*'|[^\s"'|;&)`]+|[ \t]+)*)/;

/** The arguments of each `vedette` command in a fenced block. */
function callsIn(document: Document): string[][] {
  return blockLinesOf(document).flatMap((line) => {
    const [, rest] = called.exec(line) ?? [];
    return rest === undefined ? [] : [argumentsOf(rest)];
  });
}

/** Up to a comment or a redirection. */
function argumentsOf(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const end = words.findIndex((word) => word.startsWith("#") || /^\d?>/.test(word));
  const own = end === -1 ? words : words.slice(0, end);
  return own.map((word) => {
    const bare = word.replace(/["']/g, "");
    return placeholders[bare] ?? bare;
  });
}

/** The program with commands that do nothing; a call that it does not know throws. */
function createMute(): Command {
  const program = createProgram(() => {});
  const mute = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: () => {} });
    // `rollout proof` has both an argument and a command below it.
    const takesArguments = command.registeredArguments.length > 0;
    if (command.commands.length === 0 || takesArguments) command.action(() => {});
    command.commands.forEach(mute);
  };
  mute(program);
  return program;
}

function faultOf(call: readonly string[]): string[] {
  try {
    createMute().parse(call, { from: "user" });
    return [];
  } catch (error) {
    return [`vedette ${call.join(" ")}: ${(error as Error).message}`];
  }
}

it.each(documents)("every vedette command in a block of $file can be called so", (document) => {
  expect(callsIn(document).flatMap(faultOf)).toEqual([]);
});

it("the documents have command lines to look at", () => {
  expect(documents.flatMap(callsIn).length).toBeGreaterThan(60);
});

/** `vedette checks export prometheus`, as prose names commands: without what they need. */
function namedIn(document: Document): string[] {
  const spans = [...proseOf(document).matchAll(/`(?:npx )?vedette ([a-z][^`]*)`/g)];
  return spans
    .map(([, call = ""]) => call.replace(/\s+/g, " "))
    .filter((call) => !call.includes("|"));
}

/** Why no such command, or none of its options, is there. */
function findStranger(call: string): string[] {
  let command: Command = createProgram(() => {});
  for (const word of call.split(" ")) {
    if (word.startsWith("--")) {
      const known = command.options.map(({ long }) => long);
      if (!known.includes(word)) return [`vedette ${call}: no ${word}`];
    } else if (command.commands.length > 0) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) return [`vedette ${call}: no ${word}`];
      command = next;
    }
  }
  return [];
}

it.each(documents)("every vedette command that the prose of $file names is there", (document) => {
  expect(namedIn(document).flatMap(findStranger)).toEqual([]);
});

it.each(documents)("every npm script that $file names is there", (document) => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
    scripts: Record<string, string>;
  };
  const named = [...document.text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)];

  expect(named.map(([, script = ""]) => script).filter((script) => !(script in scripts))).toEqual(
    [],
  );
});
