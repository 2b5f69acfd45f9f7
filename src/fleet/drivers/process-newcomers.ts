/** The sentinels that a fleet of processes lacks: names, regions and ports of new ones. */
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
    const publicPort =
      basePort === 0 ? await getPort({ host: "127.0.0.1", exclude: taken }) : basePort + index;
    taken.add(publicPort);
    newcomers.push(createSentinel(index, publicPort));
  }
  return newcomers;
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
