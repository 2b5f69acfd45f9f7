import type { ClientBase } from "pg";
import { expect, it, vi } from "vitest";
import { refuseInvalidTimes } from "#kernel/database.ts";

function aClient() {
  const send = vi.fn(() => "sent");
  const client = { query: send } as unknown as ClientBase;
  refuseInvalidTimes(client);
  return { send, query: client.query.bind(client) as (...args: unknown[]) => unknown };
}

const none = new Date(Number.NaN);

it.each([
  ["SELECT $1", [none]],
  ["SELECT $1", [1, [new Date(0), none]]],
  [{ text: "SELECT $1", values: [none] }, undefined],
])("refuses %j with %j", async (text, values) => {
  const { send, query } = aClient();

  await expect(query(text, values)).rejects.toThrow(RangeError);
  expect(send).not.toHaveBeenCalled();
});

it("passes the error to a callback", async () => {
  const { send, query } = aClient();

  const error = await new Promise((resolve) => query("SELECT $1", [none], resolve));

  expect(error).toBeInstanceOf(RangeError);
  expect(send).not.toHaveBeenCalled();
});

it.each([
  ["SELECT 1", undefined],
  ["SELECT $1", [new Date(0), ["text", null]]],
])("sends %j with %j", (text, values) => {
  const { send, query } = aClient();

  expect(query(text, values)).toBe("sent");
  expect(send).toHaveBeenCalledTimes(1);
});
