/** `vedette alerts test`: a failure and a recovery that no check has, sent to a channel once each. */
import type { Context } from "@restatedev/restate-sdk";
import type { AlertEventProblemCode, AlertTest, Environment } from "#alerts/contract.ts";
import { maskOutcome, type Outcome } from "#alerts/outcome.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { toTerminalError } from "#kernel/restate.ts";
import { noSuch } from "#kernel/text.ts";
import type { AlertMessage, AnyChannel, SendToChannel } from "./message.ts";

export type TestParts = {
  /** Returns the channels of the definitions in force, read afresh. */
  readChannels: () => Promise<readonly AnyChannel[]>;
  send: SendToChannel;
  /** Posts a recovery of nothing to the source of an environment, which notifies nobody. */
  testSource: (environment: Environment, atMs: number) => Promise<Outcome>;
};

const reading = databaseRead("read-channels", {
  limitMs: 10_000,
  problem: "the channels cannot be read",
});

/** Nothing is retried: the person who asks is waiting. Throws a 404 for a channel that there is not. */
export async function testChannel(
  ctx: Context,
  id: string,
  { readChannels, send, testSource }: TestParts,
): Promise<AlertTest> {
  const channels = await readNow(ctx, reading, readChannels);
  const channel = channels.find((row) => row.id === id);
  if (channel === undefined) throw toTerminalError(unknownChannel(id, channels));
  const atMs = await ctx.date.now();
  const messages: AlertTest["messages"] = [];
  const statuses = channel.kind === "incident" ? resolvedOnly : bothStatuses;
  for (const status of statuses) {
    const attempt = () =>
      channel.kind === "incident"
        ? testSource(channel.environment, atMs)
        : send(channel, testMessage(channel, { status, atMs }));
    const { outcome, durationMs } = await ctx.run(`send-${status}`, () => measure(attempt));
    messages.push({ status, ...describe(outcome, channel), duration_ms: durationMs });
  }
  return { channel: id, kind: channel.kind, messages };
}

const bothStatuses = ["firing", "resolved"] as const;
const resolvedOnly = ["resolved"] as const;

async function measure(attempt: () => Promise<Outcome>) {
  const beganAtMs = performance.now();
  const outcome = maskOutcome(await attempt());
  return { outcome, durationMs: Math.round(performance.now() - beganAtMs) };
}

type TestEvent = { status: "firing" | "resolved"; atMs: number };

function testMessage({ id }: DirectChannel, { status, atMs }: TestEvent): AlertMessage {
  const checkId = `test:${id}`;
  const kind = status === "firing" ? "opened" : "resolved";
  return {
    kind: status,
    isTest: true,
    eventId: `${checkId}:${atMs}:${kind}`,
    checkId,
    name: `Channel ${id}`,
    environment: "production",
    // Each test is an episode of its own.
    episode: atMs,
    joining: 0,
    dedupKey: `${checkId}:${atMs}`,
    reason: "vedette alerts test was called: no check has failed",
    openedAtMs: atMs,
    atMs,
    locations: [],
    missedPings: null,
    endedBecause: null,
    rollout: null,
    url: null,
  };
}

const nobodyNotified =
  "it resolves an alert that was never open, so that nobody is notified; " +
  "`vedette alerts simulate --checks` names who would be";

function describe(outcome: Outcome, channel: AnyChannel) {
  const words = { accepted: "accepted", refused: "refused", retry: "failed" } as const;
  const cause = "cause" in outcome ? (outcome.cause ?? null) : null;
  if (outcome.kind === "unconfigured") {
    const missing = channel.kind === "incident" ? missingSource(channel.environment) : cause;
    return { outcome: "unconfigured" as const, cause: missing, remark: null };
  }
  const remark = outcome.kind === "accepted" ? (outcome.remark ?? null) : null;
  const isSource = channel.kind === "incident" && outcome.kind === "accepted";
  return { outcome: words[outcome.kind], cause, remark: isSource ? nobodyNotified : remark };
}

function missingSource(environment: Environment): string {
  const settings = `alerts.${environment}.source_id and alerts.${environment}.token`;
  return `there is no source for its environment: set incident.url, ${settings}`;
}

function unknownChannel(id: string, channels: readonly AnyChannel[]) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_channel",
    detail: `${noSuch("channel", id, channels)} (a new row counts after \`vedette config apply\`)`,
  });
}
