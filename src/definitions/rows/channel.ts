/** The row of a channel: where alerts go. */
import { z } from "zod";
import { channelFields } from "#alerts/rows/contract.ts";
import { Environment, Id } from "./fields.ts";

/** The alert source of an environment at the incident service. */
const IncidentRow = z.strictObject({
  id: Id,
  kind: z
    .literal("incident")
    .describe("incident: the alert source of the environment at the incident service."),
  environment: Environment,
  hostedId: z
    .int()
    .min(1)
    .optional()
    .describe("Its number at the hosted monitor, for `vedette checks export checkly`."),
});

export const ChannelRow = z.discriminatedUnion("kind", [
  IncidentRow,
  z.strictObject({ id: Id, ...channelFields.slack }),
  z.strictObject({ id: Id, ...channelFields.webhook }),
  z.strictObject({ id: Id, ...channelFields.email }),
  z.strictObject({ id: Id, ...channelFields.pagerduty }),
]);
export type ChannelRow = z.output<typeof ChannelRow>;
