import { expect, it } from "vitest";
import { startOnFreePorts } from "#embedded/supervised.ts";

/** A start that fails once with this message. */
function failingOnce(message: string): () => Promise<string> {
  let tries = 0;
  return async () => {
    tries += 1;
    if (tries === 1) throw new Error(message);
    return `started by try ${tries}`;
  };
}

it.each([
  'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
  "[admin-api-server] failed binding to address '127.0.0.1:43949': Address in use (os error 98)",
])("the server starts once more after: %s", async (message) => {
  const started = await startOnFreePorts(failingOnce(message));

  expect(started).toBe("started by try 2");
});

it("the search for a port reports any other failure at once", async () => {
  const starting = startOnFreePorts(failingOnce("the disk is full"));

  await expect(starting).rejects.toThrow("the disk is full");
});
