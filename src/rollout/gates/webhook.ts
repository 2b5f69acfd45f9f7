/** The gate that asks another system: a signed POST to a channel of the definitions, until it says pass or fail. */
import { z } from "zod";
import { parseJsonText } from "#kernel/body.ts";
import { cleanWords } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { cleanText, noSuch } from "#kernel/text.ts";
import { formatDuration, toIso } from "#kernel/time.ts";
import type { GateOf, GateProblemCode, GateState, NamedGate, Reading } from "./contract.ts";
import type { AttemptFacts, Evaluation, GateKind, WebhookAnswer } from "./kind.ts";
import { lastReading, withReading } from "./readings.ts";

type WebhookGate = NamedGate & GateOf<"webhook">;

export const webhookGate: GateKind<WebhookGate> = {
  reads: "paced",
  // Its decision is final.
  isKept: false,
  firstMs: () => 0,
  pollMs: ({ interval_seconds }) => interval_seconds * 1_000,
  open: () => ({}),
  read: async ({ name, channel }, { askWebhook }, facts) => {
    const nowMs = Date.now();
    const answer = await askWebhook(channel, questionOf(name, facts, nowMs));
    return { reading: { at: toIso(nowMs), ...gradeWebhookAnswer(answer) } };
  },
  withFound: withReading,
  evaluate,
  refuse: ({ channel }, { webhooks }) => {
    if (webhooks.includes(channel)) return undefined;
    const detail = noSuch("channel of the kind webhook", channel, webhooks);
    return new ProblemError<GateProblemCode>({ status: 400, code: "unknown_channel", detail });
  },
  describe: ({ name, channel, interval_seconds, timeout_seconds }) => {
    const every = formatDuration(interval_seconds * 1_000);
    return `${name}: the channel ${channel} is asked each ${every}, within ${formatDuration(timeout_seconds * 1_000)}`;
  },
};

function evaluate(_: WebhookGate, state: GateState): Evaluation {
  const last = lastReading(state);
  if (last === undefined) return { verdict: "pending", reason: "not asked yet" };
  return { verdict: last.verdict, reason: `the receiver said ${last.value}` };
}

/** `id`: the same when an attempt is repeated, of no other attempt, and without a dot. */
export function questionOf(
  gate: string,
  { rolloutId, attempt, wave, sinceMs, ...facts }: AttemptFacts,
  nowMs: number,
) {
  const id = `${rolloutId}_wave-${wave}_${gate}_${attempt}`;
  const { fleet, image, waves, total, succeeded, failed } = facts;
  const rollout = { rollout_id: rolloutId, fleet, image, gate, attempt, wave, waves };
  const data = { ...rollout, total, succeeded, failed, since: toIso(sinceMs) };
  return { id, body: JSON.stringify({ type: "rollout.gate", timestamp: toIso(nowMs), data }) };
}

const Answer = z.object({
  result: z.enum(["pass", "fail", "pending"]),
  reason: z.unknown().optional(),
});

const longestReason = 200;

/** Whatever is no answer is inconclusive: the next attempt follows. */
export function gradeWebhookAnswer(answer: WebhookAnswer): Pick<Reading, "value" | "verdict"> {
  if ("error" in answer)
    return { value: cleanText(answer.error, longestReason), verdict: "inconclusive" };
  const { status, body } = answer;
  const said = status === 200 ? Answer.safeParse(parseJsonText(body)).data : undefined;
  if (said === undefined) {
    const value = status === 200 ? "no result of pass, fail or pending" : `status ${status}`;
    return { value, verdict: "inconclusive" };
  }
  const { result, reason } = said;
  const why = typeof reason === "string" ? `: ${cleanWords(reason, longestReason)}` : "";
  return { value: `${result}${why}`, verdict: result };
}
