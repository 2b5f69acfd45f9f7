#!/usr/bin/env node
import { runCommand } from "#cli/command.ts";

const lingerMs = 2_000;

// A reader of our output may close the pipe, as `head` does: that is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
// A closed stderr must not lose the output on stdout.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runCommand(process.argv);
// Leftovers such as a connection to a server that doesn't answer must not keep a finished program alive.
// Exits after its output is flushed.
process.stdout.write("", () => setTimeout(() => process.exit(), lingerMs).unref());
