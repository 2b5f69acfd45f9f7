/** A fleet in another process, behind the driver `http`, so that its own work is not counted as ours. */
import { boundDriver } from "#fleet/drivers/bounded.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { startChild } from "./child.ts";
import { type Fleet, imagesOfBench, log } from "./fixture.ts";

/** `tells`: it answers an order with the state of its deploy. */
export async function startHttpFleet({ tells }: { tells: boolean }): Promise<Fleet> {
  const program = new URL("./http-fleet-server.ts", import.meta.url);
  const { url } = await startChild(program, { environment: { BENCH_TELLS: tells ? "1" : "" } });
  return {
    driver: boundDriver(createHttpDriver({ url, token: "bench" }), log),
    image: imagesOfBench(),
    takes: () => {
      throw new Error("deploys of this fleet take no time");
    },
    sizeTo: async (size) => {
      const signal = AbortSignal.timeout(10_000);
      const answer = await fetch(`${url}/resize/${size}`, { method: "POST", signal });
      if (!answer.ok) throw new Error(`resize: ${answer.status}`);
    },
  };
}
