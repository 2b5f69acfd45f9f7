/** The order of test files: what takes longest begins first, or one worker is left alone with it at the end. */
import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { fileSeconds } from "./file-seconds.ts";

/**
 * Vitest goes by a file's size until it knows how long the file took, and a fresh checkout knows nothing. Within its
 * project a file of `fileSeconds` comes before all that have no line there; these stay in vitest's own order.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const inProjects = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...inProjects.values()].flatMap((specs) =>
      specs.toSorted((a, b) => this.#secondsOf(b) - this.#secondsOf(a)),
    );
  }

  #secondsOf({ moduleId }: TestSpecification): number {
    return fileSeconds[path.relative(this.ctx.config.root, moduleId)] ?? 0;
  }
}
