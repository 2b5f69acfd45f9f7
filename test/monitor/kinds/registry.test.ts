/** The registry of the kinds of checks: what the compiler asks of a kind, and what each has. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { CheckRow } from "#definitions/rows/check.ts";
import { ApiCheck } from "#monitor/contract.ts";
import { kindNames, kindOf, kinds, type ProbeObservation } from "#monitor/kinds/contract.ts";
import { defineKind } from "#monitor/kinds/kind.ts";
import { tcp } from "#monitor/kinds/tcp.ts";

type Tcp = typeof tcp;
/** The parts without which an object still passes as a kind. */
type Omissible = { [Part in keyof Tcp]: Omit<Tcp, Part> extends Tcp ? Part : never }[keyof Tcp];

it("the compiler refuses a kind that lacks any of its parts", () => {
  expectTypeOf<Omissible>().toBeNever();
  const { grade: _grade, ...ungraded } = tcp;

  // @ts-expect-error: its answers would be ok, whatever they are.
  const kind = defineKind(ungraded);

  expect(kind).not.toHaveProperty("grade");
});

it("the compiler refuses a kind that does not grade the answers that its probe brings", () => {
  const pinging = {
    ...tcp,
    probe: async () => ({
      ...{ durationMs: 1, phases: { ...noPhases }, tlsDaysLeft: null },
      outcome: { kind: "pong" as const, hops: 3 },
    }),
  };

  // @ts-expect-error: `grade` reads the text that TCP has received.
  const kind = defineKind(pinging);

  expect(kind.fields).toBe(tcp.fields);
});

const noPhases = { dns: null, connect: null, tls: null, firstByte: null, transfer: null };

it("the outcomes of a probe are those of the kinds, or an error", () => {
  type Outcome = ProbeObservation["outcome"]["kind"];

  expectTypeOf<Outcome>().toEqualTypeOf<
    "response" | "received" | "records" | "certificate" | "steps" | "error"
  >();
});

const rows: Record<(typeof kindNames)[number], object> = {
  http: { url: "https://shop.example.com/" },
  tcp: { host: "db.example.com", port: 5432 },
  dns: { domain: "example.com" },
  tls: { host: "shop.example.com" },
  steps: { steps: [{ url: "https://shop.example.com/" }] },
};

describe.each(kindNames)("the kind %s", (name) => {
  const row = CheckRow.parse({ id: "a", kind: name, ...rows[name] });

  it("is registered by the name that its checks and rows have", () => {
    const { fields, row: ofRow } = kinds[name];

    expect(z.object(fields).shape.kind.safeParse(name).success).toBe(true);
    expect(ofRow.kind.safeParse(name).success).toBe(true);
  });

  it("makes a check of a row that the monitor takes as it is", () => {
    const { id, environment, frequencySeconds, failedRunThreshold } = row;
    const common = { id, name: row.name, environment, frequencySeconds, failedRunThreshold };
    const { degradedAboveMs, failedAboveMs } = row;
    const check = {
      ...{ ...common, degradedAboveMs, failedAboveMs, locations: [], channel: null },
      ...kindOf(row).toCheck(row),
    };

    expect(ApiCheck.parse(check)).toEqual(check);
  });

  it("is described by its name, or by the method of its request", () => {
    const check = kindOf(row).toCheck(row);

    expect(kindOf(check).describe(check).method).toBe(name === "http" ? "GET" : name.toUpperCase());
  });
});
