import { expect, it } from "vitest";
import { isForToken } from "#cli/alerts/events.ts";

it.each([
  ["the source's token is refused: status 401", true],
  ["given up: the source's token is refused: status 403", true],
  ["status 422 validation_error", false],
  ["its failure was not delivered", false],
])("the command takes the cause %s for the source's token: %s", (cause, isIt) => {
  expect(isForToken(cause)).toBe(isIt);
});
