import { expect, it } from "vitest";
import { ConnectionError } from "#cli/connection.ts";
import { handOver } from "#cli/token.ts";

const failing = (error: Error) => async () => {
  throw error;
};

it("tells the token when nobody says whether it was taken", async () => {
  const call = failing(new ConnectionError("there was no answer in time"));

  await expect(handOver("the-token", call)).rejects.toThrow(
    /^there was no answer.*the-token \(to be sure/,
  );
});

it("does not tell the token when it was refused", async () => {
  const call = failing(new Error("there is no heartbeat x"));

  await expect(handOver("the-token", call)).rejects.toThrow(/^there is no heartbeat x$/);
});
