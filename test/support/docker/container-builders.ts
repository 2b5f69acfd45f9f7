/** Containers as an engine reports them, whole, with what a test cares about put over them. */
import {
  deployLabel,
  imageLabel,
  replacesLabel,
  wasRunningLabel,
} from "#fleet/drivers/docker/family.ts";
import { ContainerInfo, type ContainerInfo as Info } from "#fleet/drivers/docker/schemas.ts";

type Over = {
  id?: string;
  state?: Partial<Info["State"]>;
  restarts?: number;
  labels?: Record<string, string>;
  config?: object;
  host?: object;
  networks?: object;
  mounts?: object[];
};

export const startedAt = "2026-01-01T00:00:00.000Z";

/** Runs since `startedAt`. */
export function buildContainer(name: string, over: Over = {}): Info {
  const { id = `${name}-id`, state, restarts = 0, labels, config, host, networks, mounts } = over;
  return ContainerInfo.parse({
    Id: id,
    Name: `/${name}`,
    Image: "sha256:old",
    RestartCount: restarts,
    State: { Status: "running", Running: true, StartedAt: startedAt, ...state },
    Config: { Image: "r.io/a:v1", Labels: labels, ...config },
    HostConfig: { NetworkMode: "bridge", ...host },
    Mounts: mounts,
    NetworkSettings: { Networks: networks },
  });
}

/** Created for the deploy and not started. */
export function buildMade(name: string, deployId: string, over: Over = {}): Info {
  return buildContainer(name, {
    ...over,
    state: { Status: "created", Running: false, ...over.state },
    labels: {
      [deployLabel]: deployId,
      [imageLabel]: "r.io/a:v2",
      [replacesLabel]: "gw-id",
      [wasRunningLabel]: "true",
      ...over.labels,
    },
  });
}
