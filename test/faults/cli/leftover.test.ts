/** A command that has ended, and something in its process that has not. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { entry } from "../../support/program/command.ts";

/** As a connection to a server that has fallen silent, which nobody can end. */
const leaveSomething = "data:text/javascript,setInterval(() => {}, 1e9)";

it.each([
  ["a start that fails", ["start", "--config", "/nowhere/vedette.toml"], 1],
  ["a command that went well", ["--version"], 0],
])("ends %s all the same", async (_, args, code) => {
  const child = spawn(process.execPath, ["--import", leaveSomething, entry, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));

  expect(await once(child, "exit")).toEqual([code, null]);
});
