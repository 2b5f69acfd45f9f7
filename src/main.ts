#!/usr/bin/env node
/** The `vedette` command. */
import { runCommand } from "#cli/command.ts";

// Whoever reads our output may stop reading, as `head` does: that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

process.exitCode = await runCommand(process.argv);
