/** The schemas of our procedures take and refuse the bodies that the wire contract takes and refuses. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { faultsOf } from "#api/http/answering.ts";
import type { Procedure } from "#api/procedure.ts";
import { procedureNames, requestSchema, requestValidator } from "../../support/api/api-contract.ts";
import { bodiesOf, breakagesOf, mutated } from "../../support/api/schema-bodies.ts";
import { servedProcedures } from "../../support/api/served-procedures.ts";

it("there is a procedure for each of the contract's, and no other", () => {
  const names = servedProcedures.map(([name]) => name);

  expect(names.toSorted()).toEqual(procedureNames.toSorted());
});

describe.each(servedProcedures)("%s", (name, procedure) => {
  const schema = requestSchema(name);
  const isTaken = requestValidator(name);

  it("takes and refuses generated bodies as the contract does", () => {
    const bodies = fc.oneof(
      { weight: 4, arbitrary: bodiesOf(schema) },
      { weight: 4, arbitrary: mutated(bodiesOf(schema)) },
      { weight: 2, arbitrary: mutated(mutated(bodiesOf(schema, { full: true }))) },
      { weight: 1, arbitrary: fc.jsonValue() },
    );

    fc.assert(
      fc.property(bodies, (body) => {
        const received = overTheWire(body);
        expect(isAccepted(procedure, received)).toBe(isTaken(received) && isStorable(received));
      }),
      { numRuns: 200, seed: 20_261_121 },
    );
  });

  it.each(breakagesOf(schema))(
    "refuses a broken $location and names it",
    ({ location, breakIn }) => {
      const [whole] = fc.sample(fc.noShrink(bodiesOf(schema, { full: true }).filter(isStorable)), {
        numRuns: 1,
        seed: 20_261_121,
      });

      for (const broken of breakIn(whole)) {
        const received = overTheWire(broken);
        expect(isTaken(received)).toBe(false);
        expect(faultLocations(procedure, received)).toContain(location);
      }
    },
  );
});

/** As the server has it: parsed from JSON. */
function overTheWire(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}

function isAccepted(procedure: Procedure, body: unknown): boolean {
  return procedure.input.safeParse(body).success;
}

function faultLocations(procedure: Procedure, body: unknown): string[] {
  const { error } = procedure.input.safeParse(body, { reportInput: true });
  return error === undefined ? [] : faultsOf(error).map((fault) => fault.location);
}

/** The one thing that is refused although the contract takes it: what no Postgres can hold. */
function isStorable(body: unknown): boolean {
  const text = JSON.stringify(body);
  return !text.includes("\\u0000") && !/\\ud[89a-f]/.test(text);
}
