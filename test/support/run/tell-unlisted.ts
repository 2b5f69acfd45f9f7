/** A reporter that names long files of the sweeps without a line in `file-seconds.ts`: one may begin last. */
import path from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { fileSeconds } from "./file-seconds.ts";

/** Twice what a line is for: a busy machine takes longer for everything. */
const longMs = 60_000;

export default class TellUnlisted implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const file = path.relative(module.project.config.root, module.moduleId);
      const { duration } = module.diagnostic();
      const isUnlisted = module.project.name === "sweeps" && fileSeconds[file] === undefined;
      if (duration < longMs || !isUnlisted) continue;
      const seconds = Math.round(duration / 1_000);
      process.stdout.write(
        `\nno line in test/support/run/file-seconds.ts: ${file}, ${seconds} s\n`,
      );
    }
  }
}
