/** Whoever acknowledges an alert does so in the own name, at each address of the real program. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const places = ["control", "ingress", "console"] as const;

/** One for each address: who acknowledges an alert first has acknowledged it. Nobody listens at this port. */
const checks = places.map((id) => {
  const address = { kind: "tcp", host: "127.0.0.1", port: 1 };
  return { id, name: id, ...address, frequencySeconds: 10 };
});

const dir = makeTempDir();
let program: Program;

beforeAll(async () => {
  const file = path.join(dir.path, "vedette.config.json");
  writeFileSync(file, JSON.stringify({ checks }));
  program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: file,
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: createHash("sha256").update("of-ada").digest("hex"),
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "operate",
  });
});

afterAll(async () => {
  await program?.dispose();
  dir.remove();
});

type Listed = { checks: { id: string; alert: { acknowledged_by: string | null } | null }[] };

const alerts = async () => {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return (body as Listed).checks.map(({ id, alert }) => [id, alert?.acknowledged_by] as const);
};

it("an operator acknowledges alerts in no other's name", async () => {
  await waitFor(async () => (await alerts()).every(([, by]) => by === null), {
    withinMs: 60_000,
    what: "an open alert of each check",
  });
  const { control, restate_ingress, restate_admin } = program.endpoints();
  const at = {
    control,
    ingress: `${restate_ingress}`,
    console: `${restate_admin}/ingress`,
  };

  for (const place of places) {
    const answer = await fetch(`${at[place]}/vedette.v1.ApiCheck/${place}/Acknowledge`, {
      method: "POST",
      headers: { authorization: "Bearer of-ada", "content-type": "application/json" },
      body: JSON.stringify({ by: "ben" }),
    });
    expect([place, answer.status]).toEqual([place, 200]);
  }

  const taken = await waitFor(
    async () => {
      const all = await alerts();
      return all.every(([, by]) => typeof by === "string") && Object.fromEntries(all);
    },
    { withinMs: 60_000, what: "an acknowledgement of each alert" },
  );
  expect(taken).toEqual({ control: "ada", ingress: "ada", console: "ada" });
});
