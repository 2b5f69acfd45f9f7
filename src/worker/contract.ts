/** Versions of the program as Restate knows them, and invocations that do not progress. Times: ISO 8601, UTC. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";

/** A hash of the program's code, as it ends the address of a worker. */
const Revision = z.string().regex(/^[0-9a-zA-Z-]{1,64}$/, {
  error: "must be a revision, as `vedette upgrade status` has it",
});

export const Version = z.object({
  revision: z.string(),
  address: z.string(),
  registered_at: z.string(),
  /** Number of services whose new calls it gets; 0: a later version has them all. */
  serves: z.int(),
  /** Number of invocations that it has started and that have not ended, by Restate's word for their state. */
  unfinished: z.record(z.string(), z.int()),
  /** Number of those that are retried because nobody answers at its address. */
  unreachable: z.int(),
});
export type Version = z.infer<typeof Version>;

/** An invocation that its last attempt did not end. */
export const Troubled = z.object({
  id: z.string(),
  /** `service/key/handler`. */
  target: z.string(),
  /** `backing-off`: it is retried by itself. */
  status: z.enum(["paused", "backing-off"]),
  since: z.string(),
  attempts: z.int(),
  /** null: it is not retried. */
  next_attempt_at: z.string().nullable(),
  reason: z.string(),
  /** One sentence: what happens by itself, or what helps. */
  advice: z.string(),
});
export type Troubled = z.infer<typeof Troubled>;

const Empty = z.strictObject({}).meta({ title: "Empty request of the engine", examples: [{}] });

export const engineHandlers = {
  Versions: { input: Empty, output: z.object({ versions: z.array(Version) }) },
  /** The longest in trouble first, 200 at most; `total` counts all. */
  Troubled: { input: Empty, output: z.object({ invocations: z.array(Troubled), total: z.int() }) },
  /** Moves invocations of a version that no longer serves to the one that does, 1,000 at once. */
  Adopt: {
    input: z
      .strictObject({ revision: Revision })
      .meta({ title: "AdoptRequest", examples: [{ revision: "0123456789abcdef" }] }),
    output: z.object({ moved: z.int(), left: z.int() }),
  },
  /** Makes the next attempt at once. */
  Retry: {
    input: z
      .strictObject({
        id: z.string().regex(/^inv_\w{1,64}$/, { error: "must be the id of an invocation: inv_…" }),
      })
      .meta({
        title: "EngineRetryRequest",
        examples: [{ id: "inv_1fJlnBuJdvoo3SzFxMQtgQZOcPqnIqSRoJ" }],
      }),
    output: z.object({ target: z.string() }),
  },
} as const;

export const engineService = iface.service("vedette.v1.Engine", {
  Versions: iface.schemas(engineHandlers.Versions),
  Troubled: iface.schemas(engineHandlers.Troubled),
  Adopt: iface.schemas(engineHandlers.Adopt),
  Retry: iface.schemas(engineHandlers.Retry),
});
