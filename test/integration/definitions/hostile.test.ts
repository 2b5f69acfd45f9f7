/** Definitions that no file of ours would have: each is refused in words, and holds nothing up. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { emptySet } from "#definitions/rows/contract.ts";
import { type Program, startProgram } from "../../support/program/program.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const definitions = (handler: string, body: object = {}) =>
  program.post(`vedette.v1.Definitions/singleton/${handler}`, body);

const url = "http://127.0.0.1:9/";
const post = { id: "a", url, method: "POST" };

function nested(depth: number): object {
  let value: object = {};
  for (let i = 0; i < depth; i += 1) value = { a: value };
  return value;
}

const rows: [string, object][] = [
  ["a NUL in a body", { checks: [{ ...post, body: { text: "a\u0000b" } }] }],
  ["a lone surrogate in a body", { checks: [{ ...post, body: { text: "a\ud800b" } }] }],
  ["a NUL in a name of a body", { checks: [{ ...post, body: { "a\u0000": 1 } }] }],
  ["a NUL in an address", { checks: [{ id: "a", url: `${url}\u0000` }] }],
  ["a NUL in a path", { checks: [{ id: "a", path: "/\u0000" }] }],
  [
    "a NUL in an assertion",
    { checks: [{ id: "a", url, assertions: [{ source: "json", path: "a", equals: "\u0000" }] }] },
  ],
  [
    "a NUL in a source",
    {
      sources: [
        { name: "a", title: "A", kind: "http", environment: null, labels: { a: ["\u0000"] } },
      ],
    },
  ],
  ["a body that is deeply nested", { checks: [{ ...post, body: nested(700) }] }],
  ["a body that is very deeply nested", { checks: [{ ...post, body: nested(5_000) }] }],
];

it.each(rows)("%s is refused, and holds up nothing", async (_, given) => {
  const { status, body } = await definitions("Apply", { definitions: { ...emptySet, ...given } });

  expect({ status, code: body["code"] }).toEqual({ status: 400, code: expect.any(String) });
  expect((await definitions("Apply", { definitions: emptySet })).status).toBe(200);
});
