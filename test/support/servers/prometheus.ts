/** Debian's Prometheus and its promtool, the real ones: installed, or of the directory `programs`. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import { parse, stringify } from "yaml";
import { freePort } from "../free-port.ts";
import { childLimitMs } from "../program/command.ts";
import { waitFor } from "../wait-for.ts";

/** Runs promtool in a directory. */
export function promtool(
  args: string[],
  {
    cwd,
    input = "",
    programs = "",
  }: { cwd: string; input?: string; programs?: string | undefined },
): { code: number | null; output: string } {
  const ran = spawnSync(path.join(programs, "promtool"), args, {
    cwd,
    input,
    encoding: "utf8",
    timeout: childLimitMs,
  });
  return { code: ran.status, output: `${ran.stdout}${ran.stderr}` };
}

/**
 * Starts Prometheus with the exported scrapes and rules as they are, but for how often all is done, which a test
 * cannot wait for.
 */
export async function startPrometheus(
  directory: string,
  { everySeconds, programs = "" }: { everySeconds: number; programs?: string | undefined },
) {
  const file = path.join(directory, "prometheus.yml");
  const config = parse(readFileSync(file, "utf8"));
  for (const scrape of config.scrape_configs) {
    scrape.scrape_interval = `${everySeconds}s`;
    scrape.scrape_timeout = `${everySeconds}s`;
  }
  writeFileSync(file, stringify(config));
  for (const name of config.rule_files) {
    const rules = path.join(directory, name);
    const text = readFileSync(rules, "utf8");
    writeFileSync(rules, text.replace(/interval: \w+/, `interval: ${everySeconds}s`));
  }
  const address = `127.0.0.1:${await freePort()}`;
  const data = path.join(directory, "data");
  const args = ["--config.file", file, "--storage.tsdb.path", data];
  run(path.join(programs, "prometheus"), [...args, "--web.listen-address", address]);
  await answers(`http://${address}/-/ready`);
  return {
    url: `http://${address}`,

    /** The samples of an expression, now. Throws what Prometheus refuses it for. */
    async query(expr: string): Promise<unknown[]> {
      const answer = await fetch(
        `http://${address}/api/v1/query?${new URLSearchParams({ query: expr })}`,
      );
      const { data, error } = (await answer.json()) as {
        data: { result: unknown[] };
        error?: string;
      };
      if (error !== undefined) throw new Error(`${expr}: ${error}`);
      return data.result;
    },

    async firing(): Promise<Record<string, string>[]> {
      const answer = await fetch(`http://${address}/api/v1/alerts`);
      const { data } = (await answer.json()) as { data: { alerts: FiredAlert[] } };
      return data.alerts.flatMap(({ state, labels }) => (state === "firing" ? [labels] : []));
    },
  };
}

type FiredAlert = { state: string; labels: Record<string, string> };

function run(program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: "ignore" });
  const hasEnded = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await hasEnded;
  });
}

function answers(address: string): Promise<true> {
  return waitFor(async () => (await fetch(address)).ok && true, {
    withinMs: 20_000,
    what: `${address} to answer`,
  });
}
