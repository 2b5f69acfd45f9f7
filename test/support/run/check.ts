/**
 * `npm run check`: types beside lint, dead code and unit tests, since none of them keeps two cores busy by itself. Each prints when it has
 * ended; all run to their end, and one that fails makes the exit code 1.
 */
import { spawn } from "node:child_process";

const lanes = [["typecheck"], ["lint", "unused", "test:unit"]];
/** npm's own, so that the same npm runs the steps. */
const npm = process.env["npm_execpath"];

async function run(step: string): Promise<boolean> {
  const startedMs = performance.now();
  const [program, ...args] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const child = spawn(program ?? "npm", [...args, "run", "--silent", step], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }) },
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => output.push(chunk));
  }
  const code = await new Promise((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  const verdict = `${step}: ${code === 0 ? "passed" : "FAILED"} after ${seconds} s\n`;
  process.stdout.write(Buffer.concat([...output, Buffer.from(verdict)]));
  return code === 0;
}

async function runLane(steps: readonly string[]): Promise<boolean> {
  let isPassed = true;
  for (const step of steps) isPassed = (await run(step)) && isPassed;
  return isPassed;
}

const passed = await Promise.all(lanes.map(runLane));
if (passed.includes(false)) process.exitCode = 1;
