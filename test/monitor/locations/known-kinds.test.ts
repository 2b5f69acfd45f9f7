/** The work of a later version of control. */
import { expect, it } from "vitest";
import { splitByKind } from "#monitor/locations/runner.ts";

it("checks of kinds that are not known are left out and named, the others stay", () => {
  const [http, tcp] = [{ id: "a" }, { id: "b", kind: "tcp" }];
  const later = ["smtp", "icmp", "smtp"].map((kind) => ({ id: "c", kind }));

  const { known, unknownKinds } = splitByKind({ location: "fra", checks: [http, ...later, tcp] });

  expect(known).toEqual({ location: "fra", checks: [http, tcp] });
  expect(unknownKinds).toEqual(["icmp", "smtp"]);
});

it("checks that start TLS in a way that is not known are left out and named", () => {
  const [known, later] = ["imap", "xmpp"].map((starttls) => ({ id: "a", kind: "tls", starttls }));

  expect(splitByKind({ checks: [known, later] })).toEqual({
    known: { checks: [known] },
    unknownKinds: ["xmpp"],
  });
});

it("checks of records of a type that is not known are left out and named", () => {
  const [known, later] = ["MX", "SVCB"].map((type) => ({ id: "a", kind: "dns", type }));

  expect(splitByKind({ checks: [known, later] })).toEqual({
    known: { checks: [known] },
    unknownKinds: ["SVCB"],
  });
});

it("the names of endless kinds are few, short and clean", () => {
  const checks = Array.from({ length: 1_000 }, (_, i) => ({
    kind: `${i}\u202e\n${"x".repeat(100)}`,
  }));

  const { unknownKinds } = splitByKind({ checks });

  expect(unknownKinds).toHaveLength(20);
  expect(unknownKinds[0]).toBe(`0  ${"x".repeat(17)}`);
});

it.each([null, "text", {}, { checks: "text" }, { checks: [null, 1, { kind: 7 }] }])(
  "%j is left to the schema",
  (answer) => {
    expect(splitByKind(answer)).toEqual({ known: answer, unknownKinds: [] });
  },
);
