/** A bench that is cut off: programs of a few lines, as benches are, that end at different moments. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeTempDir } from "../../support/temp-dir.ts";

const bench = path.resolve("bench");
const start = `
  import { failBench, finishBench, reportFigure, reportTable, startBench } from ${JSON.stringify(`${bench}/run.ts`)};
  startBench("sample", import.meta.dirname);
`;
const measure = `
  reportFigure("requests a second", 20, { atLeast: 10 });
  reportTable("Servers", { floor: { "p99 ms": 1.23456 } });
`;

/** Runs the program and returns how it ended; `kill` is sent once it has printed its first verdict. */
async function runBench(text: string, kill?: NodeJS.Signals) {
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  const program = path.join(dir.path, "sample.ts");
  writeFileSync(program, start + text);
  const child = spawn(process.execPath, [program], { cwd: bench, timeout: 30_000 });
  let output = "";
  const add = (chunk: Buffer) => {
    output += String(chunk);
    if (kill !== undefined && output.includes("MET:")) child.kill(kill);
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  const [code, signal] = await once(child, "close");
  const file = path.join(dir.path, "sample.json");
  const stored = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  return { code, signal, output, stored };
}

it("a bench that finishes stores its figures, tables and machine", async () => {
  const { code, output, stored } = await runBench(`${measure} finishBench();`);

  expect(output).toContain("MET: requests a second: 20 (aim: at least 10)");
  expect(code).toBe(0);
  expect(stored).toMatchObject({
    bench: "sample",
    runs: [
      {
        source: "run",
        date: new Date().toISOString().slice(0, 10),
        commit: expect.stringMatching(/^[0-9a-f]{8}/),
        figures: [{ name: "requests a second", value: 20, aim: "at least 10", verdict: "met" }],
        tables: [{ title: "Servers", rows: [{ measured: "floor", "p99 ms": 1.235 }] }],
      },
    ],
  });
});

it("a missed aim is stored, and the exit code says so", async () => {
  const { code, stored } = await runBench(
    'reportFigure("requests a second", 5, { atLeast: 10 }); finishBench();',
  );

  expect(code).toBe(1);
  expect(stored.runs[0].figures[0].verdict).toBe("missed");
});

it.each([
  ["throws", `${measure} throw new Error("a server is away");`],
  ["ends before its last call", measure],
  ["leaves in the middle", `${measure} process.exit(0);`],
  ["awaits what never comes", `${measure} await new Promise(() => {}); finishBench();`],
  ["has lost a server", `${measure} failBench("a server died"); finishBench();`],
  ["fails after its last call", `${measure} finishBench(); throw new Error("a server is away");`],
])("a bench that %s fails and stores nothing", async (_what, text) => {
  const { code, output, stored } = await runBench(text);

  expect(code).toBeGreaterThan(0);
  expect(output).toContain("CUT OFF: ");
  expect(stored).toBeUndefined();
});

it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "a bench that ends by %s fails and stores nothing",
  async (kill) => {
    const { code, signal, stored } = await runBench(
      `${measure} setTimeout(finishBench, 20_000);`,
      kill,
    );

    expect(code === null ? signal : code).not.toBe(0);
    expect(stored).toBeUndefined();
  },
);

it("a bench whose server dies fails and stores nothing", async () => {
  const { code, output, stored } = await runBench(`
    import { writeFileSync } from "node:fs";
    import { startChild } from ${JSON.stringify(`${bench}/child.ts`)};
    const server = new URL("./server.mjs", import.meta.url);
    writeFileSync(server, 'process.send({ url: "" }); process.once("disconnect", () => process.exit());');
    const { pid } = await startChild(server, {});
    ${measure}
    process.kill(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    finishBench();
  `);

  expect(code).toBe(1);
  expect(output).toContain("server.mjs ended in the middle (SIGKILL)");
  expect(stored).toBeUndefined();
});
