import { expect, it } from "vitest";
import { createDeparture } from "#app/base.ts";

const never = new Promise(() => {});
const hourSeconds = 3_600;

it("is announced at once", async () => {
  const departure = createDeparture(never);
  const before = departure.isAnnounced();

  await departure.announce(0);

  expect([before, departure.isAnnounced()]).toEqual([false, true]);
});

it("ends at once when the program fails", async () => {
  const failure = Promise.withResolvers<Error>();
  const announced = createDeparture(failure.promise).announce(hourSeconds);

  failure.resolve(new Error("another process has taken over"));

  await expect(announced).resolves.toBeUndefined();
});

it("is announced when the program fails", async () => {
  const failure = Promise.withResolvers<Error>();
  const departure = createDeparture(failure.promise);
  const before = departure.isAnnounced();

  failure.resolve(new Error("another process has taken over"));
  await failure.promise;

  expect([before, departure.isAnnounced()]).toEqual([false, true]);
});
