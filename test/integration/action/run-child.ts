type Stop = { after: string; signal: NodeJS.Signals };

/** Runs a program to its end, or stops it once it has printed something, with nothing of this environment but the PATH to its tools. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { childLimitMs } from "../../support/program/command.ts";

export async function runChild(
  [command = "", ...args]: string[],
  environment: Record<string, string>,
  stop?: Stop,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, {
    env: { PATH: process.env["PATH"], ...environment },
    timeout: childLimitMs,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => {
      const hadSaid = stop !== undefined && output.includes(stop.after);
      output += chunk;
      if (stop !== undefined && !hadSaid && output.includes(stop.after)) child.kill(stop.signal);
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
