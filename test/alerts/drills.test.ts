/** What the delivery does with the events of a drill. */
import { expect, it } from "vitest";
import { toMessage } from "#alerts/channels/to-message.ts";
import { headline } from "#alerts/channels/words.ts";
import type { EventStatus } from "#alerts/contract.ts";
import { type RoutedOrder, routeOrder } from "#alerts/order.ts";
import { renderEvent } from "#alerts/payload.ts";
import { drillOutcomesOf } from "#alerts/queue-store.ts";
import { buildOrder, exampleLinks } from "../support/alerts/alert-builders.ts";

const linkTo = exampleLinks;

function orderOf(kind: "opened" | "resolved", drill?: string): RoutedOrder {
  const order = buildOrder({ kind });
  const transition = { ...order.transition, checkId: "drill:weekly", ...(drill && { drill }) };
  return routeOrder({ ...order, name: "[TEST] Weekly drill", transition }) as RoutedOrder;
}

const recordOf = (order: RoutedOrder, status: EventStatus) => ({
  entry: { order, sequence: 1, queuedAtMs: 0, attempts: 1, cause: null },
  status,
  nextAttemptAtMs: null,
  acceptedAtMs: null,
});

it("the message of a drill is a test, has the mark once, and leads to the drill", () => {
  const message = toMessage(orderOf("opened", "weekly"), linkTo);

  expect(message).toMatchObject({
    isTest: true,
    name: "Weekly drill",
    url: linkTo.check("weekly"),
  });
  expect(headline(message)).toMatch(/^\[TEST\] Failed: Weekly drill: /);
});

it("at the incident service the mark is in the title", () => {
  const body = renderEvent(orderOf("opened", "weekly"), {
    kind: "http",
    environment: "production",
    linkTo,
  });

  expect(body).toMatchObject({
    title: "[TEST] Weekly drill failed",
    source_url: linkTo.check("weekly"),
    metadata: { is_test: true },
  });
});

it("a drill is told what became of its failure", () => {
  const order = orderOf("opened", "weekly");
  const { episode } = order.transition;
  const news = { drill: "weekly", episode, channel: "production" };

  expect(drillOutcomesOf(recordOf(order, "accepted"))).toEqual([{ ...news, status: "accepted" }]);
  expect(drillOutcomesOf(recordOf(order, "dead"))).toEqual([{ ...news, status: "dead" }]);
});

it("nothing is told of an event that waits, of a recovery, and of a check", () => {
  expect(drillOutcomesOf(recordOf(orderOf("opened", "weekly"), "pending"))).toEqual([]);
  expect(drillOutcomesOf(recordOf(orderOf("resolved", "weekly"), "accepted"))).toEqual([]);
  expect(drillOutcomesOf(recordOf(orderOf("opened"), "accepted"))).toEqual([]);
});
