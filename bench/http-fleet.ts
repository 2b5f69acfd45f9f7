/** A fleet in another process, behind the driver `http`, so that its own work is not counted as ours. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { boundDriver } from "#fleet/drivers/bounded.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { type Fleet, imagesOfBench, log } from "./fixture.ts";

/** `tells`: it answers an order with the state of its deploy. */
export async function startHttpFleet({ tells }: { tells: boolean }): Promise<Fleet> {
  const file = path.join(import.meta.dirname, "http-fleet-server.ts");
  const child = spawn(process.execPath, [file, ...(tells ? ["tells"] : [])], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const [port] = await once(child.stdout, "data");
  const url = `http://127.0.0.1:${String(port).trim()}`;
  return {
    driver: boundDriver(createHttpDriver({ url, token: "bench" }), log),
    image: imagesOfBench(),
    takes: () => {
      throw new Error("deploys of this fleet take no time");
    },
    sizeTo: async (size) => {
      const answer = await fetch(`${url}/resize/${size}`, { method: "POST" });
      if (!answer.ok) throw new Error(`resize: ${answer.status}`);
    },
  };
}
