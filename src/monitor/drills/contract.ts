/** The operation on a drill through the gateway; the key is its id. Times: ISO 8601, UTC. */
import { z } from "zod";

export const drillService = "vedette.v1.Drill";

/** A run that an operator has begun: it goes on by itself. */
export const StartedDrill = z.object({
  drill: z.string(),
  by: z.string(),
  begun_at: z.string(),
  /** Until then every channel has to accept the test alert. */
  due_at: z.string(),
  /** The channels that are tested: the environment of the incident service, and ids. */
  channels: z.array(z.string()),
});
export type StartedDrill = z.infer<typeof StartedDrill>;

export const drillHandlers = {
  Run: { input: z.strictObject({}).meta({ title: "Empty request" }), output: StartedDrill },
} as const;
