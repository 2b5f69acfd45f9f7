/** The content of an alert event, whatever channel it goes to. Each channel puts it into its own format. */
import type { z } from "zod";
import type { Environment, PostedNotice } from "#alerts/contract.ts";
import type { Outcome } from "#alerts/outcome.ts";
import type { RolloutNote } from "#alerts/payload.ts";
import type { ChannelOf, DirectChannel } from "#alerts/rows/contract.ts";
import type { Suspect } from "#blame/contract.ts";
import type { Reach } from "#kernel/reach.ts";
import type { Destination } from "./secrets.ts";

/** The same for every attempt at the same event. Texts are as people wrote them: not escaped, not cut. */
export type AlertMessage = {
  kind: "firing" | "resolved";
  /** True for `vedette alerts test` or a drill: no check has failed. */
  isTest?: true;
  /** The same for every attempt. */
  eventId: string;
  checkId: string;
  name: string;
  environment: Environment;
  episode: number;
  /** The number of times that the check had left this channel before in the episode. */
  joining: number;
  /** The same for all failures and recoveries of an episode, and for no other episode. */
  dedupKey: string;
  /** The failure; for a recovery, the one that is over. */
  reason: string;
  /** The times at which the alert opened, and at which this event happened. Unix ms. */
  openedAtMs: number;
  atMs: number;
  locations: readonly string[];
  missedPings: number | null;
  /** Why the alert closed without a recovery; null: it recovered, or is open. */
  endedBecause: string | null;
  rollout: RolloutNote | null;
  /** Only of a failure: what changed before, the likeliest cause first; absent: it was not found out in time. */
  changes?: readonly Suspect[] | undefined;
  /** The check's page in the console; null: its address is not known. */
  url: string | null;
};

/** `url`: the page of the rollout that the notice is about. */
export type NoticeMessage = Pick<AlertMessage, "eventId" | "atMs" | "url"> & {
  kind: "notice";
  isTest?: never;
  notice: z.infer<typeof PostedNotice>;
};

export type ChannelMessage = AlertMessage | NoticeMessage;

/** One attempt. Never throws; the outcome never contains a secret. */
export type SendToChannel = (channel: DirectChannel, message: ChannelMessage) => Promise<Outcome>;

/** A channel of any kind, as its row has it. */
export type AnyChannel = DirectChannel | { id: string; kind: "incident"; environment: Environment };

/** The row in force of a channel; undefined: it cannot be read now. */
export type FindChannel = (id: string) => Promise<AnyChannel | "removed" | undefined>;

/** The parts that the sender of each kind of channel is given. */
export type Delivery<Kind extends DirectChannel["kind"]> = Destination & {
  channel: ChannelOf<Kind>;
  message: ChannelMessage;
  /** The limit of the whole attempt. */
  timeoutMs: number;
  nowMs: number;
  reach: Reach;
};

/** The limit of an attempt at the channel: its row's, else the usual one. In ms. */
export function limitOf({ timeoutSeconds }: DirectChannel, usualMs: number): number {
  return timeoutSeconds ? timeoutSeconds * 1_000 : usualMs;
}

/** May throw what the network throws. */
export type Send<Kind extends DirectChannel["kind"]> = (
  delivery: Delivery<Kind>,
) => Promise<Outcome>;
