/** What is known of the sentinels' containers on one host. */
import type { z } from "zod";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { type Engine, expectGood, maxListBytes, parseAnswer } from "./engine.ts";
import { type Family, familyPattern, readName, toFamily } from "./family.ts";
import { ContainerInfo, ContainerList, ImageInfo } from "./schemas.ts";

export type ListedContainer = z.infer<typeof ContainerList>[number];

/** Another process may rename them between the list and the looks at each. */
const mostReads = 10;

/** Being removed, or left over from a removal that failed: its place is empty, so that the old one can come back. */
function hasLeft(name: string, state: string): boolean {
  return ["removing", "dead"].includes(state) && readName(name).role === "current";
}

export type Containers = ReturnType<typeof createContainers>;

/** `label`: as in Docker's filter, `name` or `name=value`. */
export function createContainers(engine: Engine, label: string) {
  const get = async (path: string, signal?: AbortSignal) =>
    engine.call({ method: "GET", path, signal });

  const list = async (filters: object, signal?: AbortSignal) => {
    const query = { all: "true", filters: JSON.stringify({ label: [label], ...filters }) };
    const asked = { method: "GET", path: "/containers/json", maxBytes: maxListBytes } as const;
    const answer = await engine.call({ ...asked, query, signal });
    const body = expectGood(answer, "listing containers", engine);
    // One that is being removed may have lost its name.
    const containers = parseAnswer(ContainerList, body, engine).filter(
      ({ Name, State }) => Name !== "" && !hasLeft(Name, State),
    );
    return { containers, nowMs: answer.nowMs };
  };

  const inspect = async (id: string, signal?: AbortSignal): Promise<ContainerInfo[]> => {
    const answer = await get(`/containers/${encodeURIComponent(id)}/json`, signal);
    if (answer.status === 404) return [];
    return [parseAnswer(ContainerInfo, expectGood(answer, "inspecting", engine), engine)];
  };

  return {
    list: async (signal?: AbortSignal) => (await list({}, signal)).containers,

    /** As it was at one moment. `nowMs`: by the engine's clock. */
    async readFamily(
      name: string,
      signal?: AbortSignal,
    ): Promise<{ family: Family; nowMs: number }> {
      for (let n = 0; n < mostReads; n++) {
        const { containers, nowMs } = await list({ name: [familyPattern(name)] }, signal);
        const found = await Promise.all(containers.map(({ Id }) => inspect(Id, signal)));
        const isSame = containers.every(({ Name }, index) => found[index]?.[0]?.Name === Name);
        const left = found.flat().filter(({ Name, State }) => !hasLeft(Name, State.Status));
        if (isSame) return { family: toFamily(name, left), nowMs };
      }
      throw new UnreachableError(`unreachable: ${name} changes all the time`);
    },

    /** undefined: it has been removed. */
    async readImage(id: string, signal?: AbortSignal): Promise<ImageInfo | undefined> {
      const answer = await get(`/images/${encodeURIComponent(id)}/json`, signal);
      if (answer.status === 404) return undefined;
      return parseAnswer(ImageInfo, expectGood(answer, "reading an image", engine), engine);
    },
  };
}
