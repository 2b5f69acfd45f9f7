/** The messages about drift, between two rollouts. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { z } from "zod";
import { notices, type PostedNotice, topicKey } from "#alerts/contract.ts";
import { fleetOption } from "#fleet/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { singletonKey } from "#rollout/contract.ts";
import type { ChannelEvent } from "#rollout/rules/messages.ts";
import type { HeldDrift } from "./converge.ts";

/** Sentinels that a message names. */
export const maxNamed = 5;

/** `drifted`: sentinels that no pin holds, `maxNamed` at most. */
export type FoundDrift = { drifted: Pick<HeldDrift, "id" | "why" | "desired">[]; count: number };

const noticePrefix = "drift-";

export function newNoticeId(ctx: ObjectContext): string {
  return `${noticePrefix}${ctx.rand.uuidv4()}`;
}

/** True if a notice with this in the place of a rollout's id is about drift, between two rollouts. */
export function isDriftNotice(rolloutId: string): boolean {
  return rolloutId.startsWith(noticePrefix);
}

export function notify(ctx: ObjectContext, notice: z.infer<typeof PostedNotice>): void {
  const topic = topicKey("sentinel_rollout", ctx.key === singletonKey ? undefined : ctx.key);
  ctx.sendClient(notices, topic).post(notice);
}

function ofFleetWords(fleet: string): string {
  return fleet === singletonKey ? "" : ` (${fleet})`;
}

/** `id`: the same for drift and its end. */
export function composeDrift({
  id,
  fleet,
  found: { drifted, count },
}: {
  id: string;
  fleet: string;
  found: FoundDrift;
}): z.infer<typeof PostedNotice> {
  const isFound = count > 0;
  const named = drifted.map((one) => `${one.id} (${one.why})`);
  const images = [...new Set(drifted.map(({ desired }) => shortenImage(desired)))];
  return {
    id: `${id}#${isFound ? "found" : "gone"}`,
    title: `${isFound ? "Sentinels have drifted" : "No sentinel drifts any more"}${ofFleetWords(fleet)}`,
    tone: isFound ? "danger" : "success",
    lines: isFound
      ? [
          `Another image than the desired one runs on ${someOf(named, maxNamed, count)}.`,
          `To see all: vedette fleet drift${fleetOption(fleet)}`,
        ]
      : ["Every sentinel that is not held runs its desired image."],
    fields: [{ name: "Image", value: images.join(", ") || "as desired" }],
    rollout: { id, fleet, event: isFound ? "drift found" : "drift gone" } satisfies RolloutNote,
  };
}

type RolloutNote = { id: string; fleet: string; event: ChannelEvent };

/** The same notice whenever it is made again. */
export function composeHold({
  fleet,
  pin: { id: pin, ids = [], reason },
}: {
  fleet: string;
  pin: Pin;
}): z.infer<typeof PostedNotice> {
  const id = `${noticePrefix}${pin}`;
  return {
    id: `${id}#held`,
    title: `Sentinels were changed by hand, and are held${ofFleetWords(fleet)}`,
    tone: "warning",
    lines: [
      `Nothing changes ${someOf(ids, maxNamed)}: ${cleanText(reason, 600)}.`,
      `To bring them back: vedette fleet release ${pin}${fleetOption(fleet)} --reason "…"`,
    ],
    fields: [{ name: "Hold", value: pin }],
    rollout: { id, fleet, event: "drift found" } satisfies RolloutNote,
  };
}

/** `drift`: the id of the drift that is announced. */
type Refused = { id: string; drift: string; fleet: string; image: string; refusal: string };

export function composeRefusal({
  id,
  drift,
  fleet,
  image,
  refusal,
}: Refused): z.infer<typeof PostedNotice> {
  return {
    id: `${id}#refused`,
    title: `Drifted sentinels cannot be brought back${ofFleetWords(fleet)}`,
    tone: "danger",
    lines: [
      `Their rollout was refused: ${cleanText(refusal, 1_000)}`,
      `It is tried again later. To bring them back by hand: vedette fleet drift${fleetOption(fleet)}, then a rollout of those ids.`,
    ],
    fields: [{ name: "Image", value: shortenImage(image) }],
    rollout: { id: drift, fleet, event: "drift found" } satisfies RolloutNote,
  };
}

type Checked = { count: number; held: number; request?: object };

/** The answer of a check in words, as `vedette cron list` has it. */
export function describeCheck({ count, held, request }: Checked, refusal: string | null): string {
  const parts = [
    `${count} drifted`,
    ...(held === 0 ? [] : [`${held} held`]),
    ...(request === undefined ? [] : ["converging"]),
    ...(refusal === null ? [] : [`the last rollout was refused: ${refusal}`]),
  ];
  return parts.join(", ");
}
