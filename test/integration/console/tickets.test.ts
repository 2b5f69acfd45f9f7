/** Tickets in a real Postgres: each signs in once, in whichever process it is used. */
import { expect, it } from "vitest";
import { createTickets } from "#console/server/stored.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const secret = Buffer.alloc(32, 1);

/** As another process, or the same one after a crash, has it. */
const create = (ofInstallation = secret) => createTickets(database(), ofInstallation);

const issue = async () => {
  const ticket = await create().issue();
  if (ticket === undefined) throw new Error("no ticket was stored");
  return ticket;
};

it("a ticket is taken once, and not again by another process", async () => {
  const ticket = await issue();

  const first = await create().redeem(ticket);
  const second = await create().redeem(ticket);

  expect([first, second]).toEqual([true, false]);
});

it("of processes that are asked at once only one takes it", async () => {
  const ticket = await issue();

  const answers = await Promise.all(Array.from({ length: 8 }, () => create().redeem(ticket)));

  expect(answers.filter((taken) => taken === true)).toHaveLength(1);
});

it("a ticket that is older than five minutes is refused", async () => {
  const [kept, old] = [await issue(), await issue()];
  const age = "UPDATE console_tickets SET ends_at = ends_at - make_interval(secs => $1)";
  await database().query(age, [295]);
  expect(await create().redeem(kept)).toBe(true);

  await database().query(age, [6]);

  expect(await create().redeem(old)).toBe(false);
});

it("a ticket is void once the ingress token is another one", async () => {
  const ticket = await issue();

  expect(await create(Buffer.alloc(32, 2)).redeem(ticket)).toBe(false);
});

it("the table has no ticket, and old ones do not pile up", async () => {
  const ticket = await issue();
  await database().query("UPDATE console_tickets SET ends_at = now() - interval '1 second'");
  await issue();

  const { rows } = await database().query("SELECT digest FROM console_tickets");

  expect(rows).toHaveLength(1);
  expect(rows.map(({ digest }) => digest.toString("utf8"))).not.toContain(ticket);
});

it("nothing is decided while the table is not there", async () => {
  const ticket = await issue();
  await database().query("ALTER TABLE console_tickets RENAME TO console_tickets_away");

  const [redeemed, issued] = await Promise.all([create().redeem(ticket), create().issue()]);
  await database().query("ALTER TABLE console_tickets_away RENAME TO console_tickets");

  expect([redeemed, issued]).toEqual(["unknown", undefined]);
});
