/** Debian's blackbox exporter, the real one: installed, or of the directory `programs`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import { freePort } from "../free-port.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export const blackboxProgram = "prometheus-blackbox-exporter";

/** A prober's settings, as its documents describe them. */
export type Module = { prober: "http" | "tcp" | "dns" } & Record<string, unknown>;

export async function startBlackbox(modules: Record<string, Module>, programs = "") {
  const file = path.join(tempDir(), "blackbox.yml");
  writeFileSync(file, stringify({ modules }));
  const address = `127.0.0.1:${await freePort()}`;
  const args = ["--config.file", file, "--web.listen-address", address];
  const child = spawn(path.join(programs, blackboxProgram), args, { stdio: "ignore" });
  const hasEnded = once(child, "exit");
  await waitFor(async () => (await fetch(`http://${address}/-/healthy`)).ok, {
    withinMs: 20_000,
    what: "the blackbox exporter to answer",
  });
  return {
    /** By the name of each metric without labels. */
    async probe(module: string, target: string): Promise<Record<string, number>> {
      const answer = await fetch(
        `http://${address}/probe?${new URLSearchParams({ module, target })}`,
      );
      const lines = (await answer.text()).matchAll(/^(\w+) (\S+)$/gm);
      return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
    },
    async stop(): Promise<void> {
      child.kill("SIGKILL");
      await hasEnded;
    },
  };
}
