import { expect, it } from "vitest";
import { ConnectionError } from "#cli/answer.ts";
import { registerToken } from "#cli/token.ts";

const failing = (error: Error) => async () => {
  throw error;
};

it("the token is printed when it is unknown if it was stored", async () => {
  const call = failing(new ConnectionError("there was no answer in time"));

  await expect(registerToken("the-token", call)).rejects.toThrow(
    /^there was no answer.*the-token \(to be sure/,
  );
});

it("the token is not printed when it was refused", async () => {
  const call = failing(new Error("there is no heartbeat x"));

  await expect(registerToken("the-token", call)).rejects.toThrow(/^there is no heartbeat x$/);
});
