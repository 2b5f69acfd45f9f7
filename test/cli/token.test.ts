import { expect, it } from "vitest";
import { ConnectionError } from "#cli/answer.ts";
import { registerToken } from "#cli/token.ts";

const failing = (error: Error) => async () => {
  throw error;
};

it("shows the token when there is no answer whether it was stored", async () => {
  const call = failing(new ConnectionError("there was no answer in time"));

  await expect(registerToken("the-token", call)).rejects.toThrow(
    /^there was no answer.*the-token \(to be sure/,
  );
});

it("does not show the token when it was refused", async () => {
  const call = failing(new Error("there is no heartbeat x"));

  await expect(registerToken("the-token", call)).rejects.toThrow(/^there is no heartbeat x$/);
});
