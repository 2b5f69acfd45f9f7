/** A job of a heartbeat: it has the ping URL, and calls it. */
import { createHash, randomBytes } from "node:crypto";
import type { startMonitorBench } from "./monitor-bench.ts";

type Bench = Pick<Awaited<ReturnType<typeof startMonitorBench>>, "call" | "takePing">;

/** Registers the heartbeat. `ping` takes what follows the token, for example `/fail`. */
export async function registerJob(bench: Bench, id: string) {
  const token = randomBytes(32).toString("base64url");
  const tokenHash = createHash("sha256").update(token).digest("hex");
  const { body } = await bench.call(`vedette.v1.Heartbeat/${id}/Register`, {
    token_hash: tokenHash,
  });
  const ping = (suffix = "") => bench.takePing(`/${token}${suffix}`);
  return { ping, registered: body, token, tokenHash };
}
