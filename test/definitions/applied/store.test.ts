import { pino } from "pino";
import { expect, it } from "vitest";
import { createDefinitionStore } from "#definitions/applied/store.ts";
import { CheckRow } from "#definitions/rows/check.ts";
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

it.each(["22P05", "54001"])("the store says what Postgres refuses for good (%s)", async (code) => {
  await expect(writeWith(code)).rejects.toMatchObject({
    status: 400,
    code: "invalid_definitions",
    message: "the database refuses these definitions: not as it should be",
  });
});

it("the store passes on what another attempt may mend", async () => {
  await expect(writeWith("57P03")).rejects.toMatchObject({ code: "57P03" });
});

const shop = CheckRow.parse({ id: "shop", url: "https://shop.example.com" });
const cart = CheckRow.parse({ ...shop, id: "cart", dependsOn: ["shop"] });

/** Keeps what is written, and answers it. */
function memory() {
  const kept: { rows: Record<string, unknown[]> } = { rows: {} };
  const query = async (text: string, values: unknown[] = []) => {
    if (text.includes("INSERT INTO definitions")) kept.rows = JSON.parse(String(values[4]));
    return { rows: [{ ...revision, apply_id: "a", applied_at: new Date(0), rows: kept.rows }] };
  };
  return { kept, database: { query } as unknown as Database };
}

it("the store reads the rows that it has written", async () => {
  const { database } = memory();
  const store = createDefinitionStore(database, pino({ level: "silent" }));

  await store.write({ ...revision, set: { ...emptySet, checks: [shop, cart] } });

  expect((await store.readCurrent())?.set.checks).toEqual([shop, cart]);
});

it("the store names a row that it leaves out", async () => {
  const { kept, database } = memory();
  const lines: string[] = [];
  const log = pino({ redact: ["key"] }, { write: (line) => lines.push(line) });
  kept.rows = { checks: [shop, { ...cart, kind: "of-a-later-version" }] };

  const found = await createDefinitionStore(database, log).readCurrent();

  expect(found?.set.checks).toEqual([shop]);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ section: "checks", row: "cart" }]);
});
