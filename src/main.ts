#!/usr/bin/env node
/** The `vedette` command. */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { runCommand } from "#cli/command.ts";

const lingerMs = 2_000;

// Half of a start is to compile what the last one compiled too: it is kept beside the code, where it
// is trusted as much as that. Where nothing may be written there, nothing is kept.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/vedette", import.meta.url)));

// Whoever reads our output may stop reading, as `head` does: that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
// What is said beside the answer may be heard by nobody: the answer is still wanted.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runCommand(process.argv);
// Something that was left behind, such as a connection to a server that has fallen silent, must not keep
// a program that has ended. What it has said is heard first.
process.stdout.write("", () => setTimeout(() => process.exit(), lingerMs).unref());
