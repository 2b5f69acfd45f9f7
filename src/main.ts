#!/usr/bin/env node
/** The `vedette` command. */
import { runCommand } from "#cli/command.ts";

process.exitCode = await runCommand(process.argv);
