/** What the receiver sees of every history of events, answers, crashes and commands. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { eventIdOf } from "#alerts/order.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { applyOutcome, emptyQueue, fold, type Queue, retry, type Step } from "#alerts/queue.ts";
import { buildOrder } from "../../support/alerts/alert-builders.ts";

/** What happens to the check's queue, and how requests end; `lost`: accepted, but no one knows. */
const act = fc.constantFrom("alert", "burst", "due", "repeat", "redeliver" as const);
const end = fc.constantFrom("accepted", "retry", "refused", "token", "lost", "killed" as const);
const happening = fc.record({
  act: fc.oneof({ weight: 3, arbitrary: fc.constant("alert" as const) }, act),
  end: fc.oneof({ weight: 2, arbitrary: fc.constant("accepted" as const) }, end),
});

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;
type End = Happening["end"];

const giveUpAfterMs = Number.MAX_SAFE_INTEGER;

const outcomes: Record<Exclude<End, "killed">, Outcome> = {
  accepted: { kind: "accepted" },
  retry: { kind: "retry", cause: "status 500" },
  refused: { kind: "refused", cause: "status 422" },
  token: { kind: "retry", cause: "status 403", isTokenRefused: true },
  lost: { kind: "retry", cause: "not reached: ECONNRESET" },
};

/** One check in front of its receiver: whoever takes its queue makes the request that is due. */
function play(happenings: readonly Happening[]) {
  let queue: Queue = emptyQueue;
  let sent = 0;
  const received: string[] = [];
  const accepted: string[] = [];
  const take = (step: Step) => {
    queue = step.queue;
    for (const { entry, status } of step.records) {
      if (status === "accepted") accepted.push(eventIdOf(entry.order));
    }
  };
  const proceed = (step: Step, how: End) => {
    take(step);
    if (step.post === null) return;
    if (how === "accepted" || how === "lost") received.push(eventIdOf(step.post.order));
    // Not even its end is known: its lease ends, and it is due again.
    if (how === "killed") return;
    const { sequence } = step.post;
    const ended = { sequence, outcome: outcomes[how], atMs: 0, random: 0 };
    // The next attempt is made when the queue is taken again.
    take(applyOutcome(queue, ended, giveUpAfterMs));
  };
  const next = () => {
    const kind = sent % 2 === 0 ? ("opened" as const) : ("resolved" as const);
    sent += 1;
    return buildOrder({ kind, episode: Math.ceil(sent / 2) });
  };
  const acts: Record<Happening["act"], (how: End) => void> = {
    alert: (how) => proceed(fold(queue, { orders: [next()], isDue: false, nowMs: 0 }), how),
    burst: (how) => {
      const orders = [next(), next(), next()];
      proceed(fold(queue, { orders, isDue: true, nowMs: 0 }), how);
    },
    due: (how) => proceed(fold(queue, { orders: [], isDue: true, nowMs: 0 }), how),
    repeat: (how) => {
      const [head] = queue.waiting;
      const orders = head === undefined ? [] : [head.order];
      proceed(fold(queue, { orders, isDue: false, nowMs: 0 }), how);
    },
    redeliver: () => {
      const [dead] = queue.dead;
      const answer = dead && retry(queue, eventIdOf(dead.order), 0);
      if (answer === undefined || answer === null || answer === "superseded") return;
      take({ ...answer, post: null, retryAfterMs: null });
    },
  };
  for (const { act, end } of happenings) acts[act](end);
  return {
    received,
    accepted,
    sent: () => sent,
    queue: () => queue,
    /** From here on nothing is refused and no one is killed. */
    calmDown: () => {
      for (let i = 0; i < 10 * happenings.length && queue.waiting.length > 0; i += 1) {
        acts.due("accepted");
      }
    },
  };
}

const histories = fc.array(happening, { minLength: 1, maxLength: 80 });

const placeOf = (eventId: string) => {
  const [, episode, kind] = eventId.split(":");
  return Number(episode) * 2 + (kind === "resolved" ? 1 : 0);
};

const distinct = (ids: readonly string[]) => [...new Set(ids)];

it("no event arrives after a newer one, not even for a second time", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const { received } = play(happenings);

      const places = received.map(placeOf);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }),
    { numRuns: 2_000 },
  );
});

it("no recovery arrives before its failure", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const { received } = play(happenings);

      for (const [i, id] of received.entries()) {
        if (id.endsWith(":opened")) continue;
        expect(received.slice(0, i)).toContain(id.replace("resolved", "opened"));
      }
    }),
    { numRuns: 2_000 },
  );
});

it("an event is recorded as accepted once, when the receiver has it", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const { received, accepted } = play(happenings);

      expect(accepted).toEqual(distinct(accepted));
      for (const id of accepted) expect(received).toContain(id);
    }),
    { numRuns: 2_000 },
  );
});

it("every event arrives once the receiver is up again, except refused ones", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const hasRefusals = happenings.some(({ end }) => end === "refused" || end === "token");
      const history = play(happenings);

      history.calmDown();

      expect(history.queue().waiting).toEqual([]);
      if (!hasRefusals) expect(distinct(history.received)).toHaveLength(history.sent());
    }),
    { numRuns: 2_000 },
  );
});
