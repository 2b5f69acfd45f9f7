/** What the receiver sees of every history of events, answers, crashes and commands. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Outcome } from "#alerting/events/outcome.ts";
import {
  add,
  emptyQueue,
  type Queue,
  retry,
  type Step,
  settle,
  wake,
} from "#alerting/events/queue.ts";
import { buildOrder } from "../../support/alert-builders.ts";

const happening = fc.oneof(
  { weight: 3, arbitrary: fc.constant("alert" as const) },
  // The sender's next request, by how it ends; `lost`: it was accepted, but no one knows.
  {
    weight: 6,
    arbitrary: fc.constantFrom("accepted", "retry", "refused", "lost", "killed" as const),
  },
  { weight: 2, arbitrary: fc.constantFrom("timer", "stale timer" as const) },
  { weight: 1, arbitrary: fc.constantFrom("repeat", "redeliver" as const) },
);

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

const giveUpAfterMs = Number.MAX_SAFE_INTEGER;

/** One check in front of its receiver. Requests are made one after the other, as its sender does. */
function play(happenings: readonly Happening[]) {
  let queue: Queue = emptyQueue;
  let sent = 0;
  /** Handed to the sender and not yet ended. */
  const requests: { eventId: string; generation: number }[] = [];
  const received: string[] = [];
  const accepted: string[] = [];
  const take = (step: Step) => {
    queue = step.queue;
    const { generation } = queue;
    if (step.post !== null) {
      requests.push({ eventId: step.post.order.transition.eventId, generation });
    }
    for (const { entry, status } of step.records) {
      if (status === "accepted") accepted.push(entry.order.transition.eventId);
    }
  };
  const request = (outcome: Outcome, isReceived: boolean) => {
    const next = requests[0];
    if (next === undefined) return;
    requests.shift();
    if (isReceived) received.push(next.eventId);
    take(settle(queue, { ...next, outcome, atMs: 0, random: 0 }, giveUpAfterMs));
  };
  const alert = () => {
    const kind = sent % 2 === 0 ? "opened" : "resolved";
    take(add(queue, buildOrder({ kind, episode: Math.floor(sent / 2) + 1 }), 0));
    sent += 1;
  };
  const acts: Record<Happening, () => void> = {
    alert,
    accepted: () => request({ kind: "accepted" }, true),
    retry: () => request({ kind: "retry", cause: "status 500" }, false),
    refused: () => request({ kind: "refused", cause: "status 403" }, false),
    lost: () => request({ kind: "retry", cause: "not reached: ECONNRESET" }, true),
    // Not even the end of the request is known: only the timer is left.
    killed: () => void requests.shift(),
    timer: () => take(wake(queue, queue.generation)),
    "stale timer": () => take(wake(queue, queue.generation - 1)),
    repeat: () => {
      const [head] = queue.waiting;
      if (head !== undefined) take(add(queue, head.order, 0));
    },
    redeliver: () => {
      const [dead] = queue.dead;
      const answer = dead && retry(queue, dead.order.transition.eventId, 0);
      if (answer !== undefined && answer !== null && answer !== "superseded") take(answer.step);
    },
  };
  for (const name of happenings) acts[name]();
  return {
    received,
    accepted,
    sent: () => sent,
    queue: () => queue,
    /** From here on nothing is refused and no one is killed. */
    calmDown: () => {
      for (let i = 0; i < 10 * happenings.length && queue.waiting.length > 0; i += 1) {
        if (requests.length === 0) acts.timer();
        acts.accepted();
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

it("an event is recorded as accepted when the receiver has it, and but once", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const { received, accepted } = play(happenings);

      expect(accepted).toEqual(distinct(accepted));
      for (const id of accepted) expect(received).toContain(id);
    }),
    { numRuns: 2_000 },
  );
});

it("once the receiver is well every event has arrived or is a dead letter of a refusal", () => {
  fc.assert(
    fc.property(histories, (happenings) => {
      const hasRefusals = happenings.includes("refused");
      const history = play(happenings);

      history.calmDown();

      expect(history.queue().waiting).toEqual([]);
      if (!hasRefusals) expect(distinct(history.received)).toHaveLength(history.sent());
    }),
    { numRuns: 2_000 },
  );
});
