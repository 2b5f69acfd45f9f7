/** The program on a terminal, as a person starts it: its banner is for people, and not a log. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Endpoints } from "#embedded/contract.ts";
import { waitFor } from "../wait-for.ts";
import { entry } from "./command.ts";
import { freePorts } from "./program.ts";

const script = "/usr/bin/script";

/** `script` of util-linux gives a program a terminal; that of macOS has other options. */
export const hasTerminal = process.platform === "linux" && existsSync(script);

export type OnTerminal = Awaited<ReturnType<typeof startOnTerminal>>;

/** Starts the program on `dataDir`, and resolves once it says that it is ready. */
export async function startOnTerminal(dataDir: string, environment: Record<string, string> = {}) {
  const command = [process.execPath, entry, "start"].map((word) => `'${word}'`).join(" ");
  const child = spawn(script, ["-qefc", `exec ${command}`, "/dev/null"], {
    env: {
      PATH: process.env["PATH"],
      SHELL: "/bin/sh",
      ...freePorts,
      VEDETTE_DATA_DIR: dataDir,
      VEDETTE_FLEET__PROCESS__SIZE: "1",
      VEDETTE_ANALYTICS__ENABLED: "false",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const closed = once(child, "close");
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await waitFor(() => hasEnded() || /Console +http\S+\r?\n/.test(output), {
    withinMs: 60_000,
    what: "the banner",
  });
  if (hasEnded()) throw new Error(`the program ended before it was ready: ${output}`);
  const read = (name: string) => JSON.parse(readFileSync(path.join(dataDir, name), "utf8"));
  const { pid, control, api } = Endpoints.parse(read("endpoints.json"));
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded()) process.kill(pid, signal);
    await closed;
  };
  return {
    output: () => output,
    control: control ?? "",
    api: api ?? "",
    /** The link of the banner; undefined: it has none. */
    link: () => /\S+\/console#ticket=\S+/.exec(output)?.[0],
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
  };
}
