/** The sentinels that a fleet of processes lacks: names, regions and ports of new ones. */
import { randomInt } from "node:crypto";
import getPort from "get-port";
import type { SentinelState } from "./process-state.ts";

type Fleet = {
  size: number;
  /** The first sentinel's port, the next one's is one higher; 0 takes free ones. */
  basePort: number;
};

const regions = ["eu-central-1", "us-east-1", "ap-southeast-1"];

/** The image of a new fleet before its first rollout. */
const firstImage = "registry.example.com/vedette/sentinel:v1";

/** The sentinel whose label says that it is to be deployed first. */
export const canaryName = nameOf(0);

export async function createNewcomers(
  { size, basePort }: Fleet,
  known: readonly SentinelState[],
): Promise<SentinelState[]> {
  const names = new Set(known.map(({ id }) => id));
  const taken = new Set(known.map(({ publicPort }) => publicPort));
  const newcomers: SentinelState[] = [];
  for (let index = 0; index < size; index += 1) {
    if (names.has(nameOf(index))) continue;
    const publicPort = basePort === 0 ? await freePort(taken) : basePort + index;
    taken.add(publicPort);
    newcomers.push(createSentinel(index, publicPort));
  }
  return newcomers;
}

/** Below those that systems give to outgoing connections (from 32,768 on), one of which could hold it while the sentinel is down. */
const freePorts = { from: 20_000, below: 32_000 };

async function freePort(taken: Set<number>): Promise<number> {
  const { from, below } = freePorts;
  const port = Array.from({ length: 50 }, () => randomInt(from, below));
  return getPort({ host: "127.0.0.1", port, exclude: taken });
}

function nameOf(index: number): string {
  return `sentinel-${String(index + 1).padStart(2, "0")}`;
}

function createSentinel(index: number, publicPort: number): SentinelState {
  return {
    id: nameOf(index),
    region: regions[index % regions.length] ?? "",
    publicPort,
    image: firstImage,
    runningImage: firstImage,
    deployId: null,
    failure: null,
    serving: null,
    candidate: null,
  };
}
