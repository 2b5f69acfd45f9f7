/** A Docker engine and a registry with images, for the test that asks for them. */
import { onTestFinished } from "vitest";
import {
  createDockerDriver,
  type DockerDriverSettings,
  type DockerHostSettings,
} from "#fleet/drivers/docker/driver.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createLog } from "#kernel/log.ts";
import { openDockerRegistry } from "../servers/docker-registry.ts";
import { startDockerEngine, type TestEngine } from "./engine.ts";
import { pushImage } from "./images.ts";

export function buildDockerHost(
  over: Partial<DockerHostSettings> & { url: string },
): DockerHostSettings {
  return { name: "one", region: "", ca: "", cert: "", key: "", optional: false, ...over };
}

/** Ends with the test that asks for it. */
export function createTestDriver(
  over: Partial<DockerDriverSettings> & Pick<DockerDriverSettings, "hosts">,
): Driver {
  const driver = createDockerDriver({
    label: "vedette.sentinel",
    stableMs: 500,
    readyTimeoutMs: 60_000,
    imageWaitMs: 120_000,
    findCredential: () => undefined,
    log: createLog({ level: "silent", format: "json" }),
    ...over,
  });
  onTestFinished(driver.stop);
  return driver;
}

/** `images` names an image by its tag, with its digest. */
export async function startDockerFleet(tags: readonly string[]) {
  const { engines, ...rest } = await startDockerFleets(tags, 1);
  const [engine] = engines;
  if (engine === undefined) throw new Error("no engine was started");
  return { engine, ...rest };
}

/** So many engines beside one registry. */
export async function startDockerFleets(tags: readonly string[], count: number) {
  const registry = await openDockerRegistry({ auth: "open" });
  onTestFinished(registry.stop);
  const names = new Map<string, string>();
  for (const tag of tags) names.set(tag, await pushImage(registry, tag));
  const engines: TestEngine[] = [];
  for (let n = 0; n < count; n++) {
    const engine = await startDockerEngine();
    onTestFinished(engine.stop);
    engines.push(engine);
  }
  const images = (tag: string) => {
    const name = names.get(tag);
    if (name === undefined) throw new Error(`no image ${tag} was pushed`);
    return name;
  };
  return { engines, registry, images };
}
