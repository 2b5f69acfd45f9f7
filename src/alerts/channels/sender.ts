/** The parts that the sender of each kind of channel is given. */
import type { Outcome } from "#alerts/outcome.ts";
import type { ChannelOf, DirectChannel } from "#alerts/rows/contract.ts";
import type { Reach } from "#kernel/reach.ts";
import type { ChannelMessage } from "./message.ts";
import type { Destination } from "./secrets.ts";

export type Delivery<Kind extends DirectChannel["kind"]> = Destination & {
  channel: ChannelOf<Kind>;
  message: ChannelMessage;
  /** The limit of the whole attempt. */
  timeoutMs: number;
  nowMs: number;
  /** The networks that it may reach. */
  reach: Reach;
};

/** May throw what the network throws. */
export type Send<Kind extends DirectChannel["kind"]> = (
  delivery: Delivery<Kind>,
) => Promise<Outcome>;
