import { pino } from "pino";
import { expect, it } from "vitest";
import { createDefinitionStore } from "#definitions/applied/store.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import type { Database } from "#kernel/database.ts";

const revision = {
  revision: 1,
  applyId: "a",
  source: "command" as const,
  appliedBy: "ops",
  set: emptySet,
  changes: [],
};

function writeWith(code: string) {
  const query = () => Promise.reject(Object.assign(new Error("not as it should be"), { code }));
  const database = { query } as unknown as Database;
  return createDefinitionStore(database, pino({ level: "silent" })).write(revision);
}

it.each(["22P05", "54001"])("says what Postgres refuses for good (%s)", async (code) => {
  await expect(writeWith(code)).rejects.toMatchObject({
    status: 400,
    code: "invalid_definitions",
    message: "the database refuses these definitions: not as it should be",
  });
});

it("passes on what another attempt may mend", async () => {
  await expect(writeWith("57P03")).rejects.toMatchObject({ code: "57P03" });
});
