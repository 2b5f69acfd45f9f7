/** A Docker engine and a registry with images, for the test that asks for them. */
import { onTestFinished } from "vitest";
import type { DockerHostSettings } from "#fleet/drivers/docker/driver.ts";
import { openDockerRegistry } from "../servers/docker-registry.ts";
import { startDockerEngine } from "./engine.ts";
import { pushImage } from "./images.ts";

export function buildDockerHost(
  over: Partial<DockerHostSettings> & { url: string },
): DockerHostSettings {
  return { name: "one", region: "", ca: "", cert: "", key: "", optional: false, ...over };
}

/** `images` names an image by its tag, with its digest. */
export async function startDockerFleet(tags: readonly string[]) {
  const registry = await openDockerRegistry({ auth: "open" });
  onTestFinished(registry.stop);
  const names = new Map<string, string>();
  for (const tag of tags) names.set(tag, await pushImage(registry, tag));
  const engine = await startDockerEngine();
  onTestFinished(engine.stop);
  const images = (tag: string) => {
    const name = names.get(tag);
    if (name === undefined) throw new Error(`no image ${tag} was pushed`);
    return name;
  };
  return { engine, registry, images };
}
