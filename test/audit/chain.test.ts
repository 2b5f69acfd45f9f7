/** The hash over a row and the row before it, and what walking the chain says of a change. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalJson, findFault, hashOf, type SealedRow, start } from "#audit/chain.ts";

const content = {
  ...{ id: "log_1", time: "2026-11-29T10:00:00.000001Z", workspace_id: null },
  ...{ event: "definitions.apply", description: "Applied revision 2", remote_ip: null },
  ...{ user_agent: null, request_id: null, targets: [{ type: "definitions", id: "2" }] },
  ...{ actor: { type: "operator", id: "ada" }, meta: { source: "command" } },
};

function sealed(cursor: number, previous: string, change: object = {}): SealedRow {
  const row = { ...content, id: `log_${cursor}`, cursor, ...change };
  return { ...row, hash: hashOf(row, previous) };
}

const first = sealed(1, start.hash);
const second = sealed(2, first.hash);

it("canonical JSON has sorted keys at each depth, and keeps the order of lists", () => {
  const text = canonicalJson({ b: [2, { d: null, c: "é\n" }], a: 0.1, "": true });

  expect(text).toBe('{"":true,"a":0.1,"b":[2,{"c":"é\\n","d":null}]}');
});

it("the hash is that of the exported line without it and with the hash before it", () => {
  const { hash, ...line } = first;
  const text = canonicalJson({ ...line, previous: start.hash });

  expect(createHash("sha256").update(text).digest("hex")).toBe(hash);
  expect(hashOf(first, start.hash)).toBe(hash);
});

describe("a walk over the chain", () => {
  it("finds nothing in rows that follow each other", () => {
    expect(findFault(start, first)).toBeUndefined();
    expect(findFault(first, second)).toBeUndefined();
  });

  it.each([
    ["actor", { actor: { type: "operator", id: "ben" } }],
    ["time", { time: "2026-11-29T10:00:00.000002Z" }],
    ["detail", { meta: { source: "file" } }],
  ])("names a row whose %s was changed", (_, change) => {
    expect(findFault(first, { ...second, ...change })).toMatchObject({
      ...{ state: "changed", cursor: 2, id: "log_2" },
    });
  });

  it("names the row after one that was made anew with its hash", () => {
    const forged = sealed(1, start.hash, { description: "nothing happened" });

    expect(findFault(start, forged)).toBeUndefined();
    expect(findFault(forged, second)).toMatchObject({ state: "changed", cursor: 2 });
  });

  it("names all rows that are missing before one", () => {
    const fourth = sealed(4, second.hash);

    expect(findFault(first, fourth)).toEqual({ state: "missing", cursor: 2, through: 3 });
  });
});
