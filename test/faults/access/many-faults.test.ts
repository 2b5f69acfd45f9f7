/** Bodies of a megabyte in which every value is wrong: Restate repeats a call for ever whose refusal is too large for it. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { routes } from "#control/routes.ts";
import { sectionNames } from "#definitions/rows/contract.ts";
import { createLog } from "#kernel/log.ts";
import { startProgram } from "../../support/program/program.ts";
import { queryRestate } from "../../support/servers/restate-query.ts";

type Path = readonly (string | 0)[];

/** The ways to each list and each object with any names in a schema. */
function* listsIn(schema: z.core.$ZodType, path: Path = []): Generator<Path> {
  if (path.length > 6) return;
  if (schema instanceof z.ZodArray) {
    yield path;
    yield* listsIn(schema.def.element, [...path, 0]);
  } else if (schema instanceof z.ZodRecord) {
    yield path;
    yield* listsIn(schema.def.valueType, [...path, "a"]);
  } else if (schema instanceof z.ZodObject) {
    for (const [name, part] of Object.entries(schema.shape))
      yield* listsIn(part as z.core.$ZodType, [...path, name]);
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) yield* listsIn(option, path);
  } else if (schema instanceof z.ZodPipe) yield* listsIn(schema.in, path);
  else if ("innerType" in schema._zod.def)
    yield* listsIn(schema._zod.def.innerType as z.core.$ZodType, path);
}

/** About as many wrong values as fit into a megabyte, at the end of the way, below a hundred entries of each list on it. */
function wrongAt([step, ...rest]: Path, count: number): unknown {
  if (step === undefined) return Array.from({ length: count }, () => 1);
  if (step !== 0) return { [step]: wrongAt(rest, count) };
  return Array.from({ length: 100 }, () => wrongAt(rest, Math.ceil(count / 100)));
}

const inputs = [...new Map(routes.map(({ path, input }) => [input, String(path)]))];

it("no call is refused with megabytes of words, whichever of its lists is wrong", () => {
  const found = inputs.flatMap(([input, route]) =>
    [...listsIn(input)].map((path) => {
      const { issues = [] } = input["~standard"].validate(wrongAt(path, 400_000)) as {
        issues?: readonly { message: string }[];
      };
      return {
        at: `${route} ${path.join(".")}`,
        chars: issues.map(({ message }) => message).join("\n").length,
      };
    }),
  );

  expect(found.length).toBeGreaterThan(15);
  expect(found.filter(({ chars }) => chars > 2_000_000)).toEqual([]);
});

it("a call at Restate's address with half a million wrong days is refused once", async () => {
  const token = "operator-of-windows-and-of-all-else";
  const program = await startProgram({
    VEDETTE_CONTROL__OPERATORS__BOB__TOKEN: createHash("sha256").update(token).digest("hex"),
    VEDETTE_CONTROL__OPERATORS__BOB__ROLES: "operate",
  });
  onTestFinished(() => program.dispose());
  const { restate_ingress: ingress = "", restate_admin: admin = "" } = program.endpoints();
  const add = async (days: unknown[]) => {
    const answer = await fetch(`${ingress}/vedette.v1.RolloutWindows/Add`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ id: "quiet", kind: "freeze", reason: "a fair", days }),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: answer.status, chars: (await answer.text()).length };
  };

  const wrong = await add(Array.from({ length: 490_000 }, () => 1));
  const right = await add(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);

  expect(wrong.status).toBe(400);
  expect(wrong.chars).toBeLessThan(10_000);
  expect(right.status).toBe(200);
  const going =
    "SELECT target FROM sys_invocation WHERE target LIKE '%RolloutWindows%' AND status <> 'completed'";
  expect(await queryRestate(admin, going, program.token())).toEqual([]);
});

it("a word of many megabytes is logged in time, by its beginning", () => {
  const lines: string[] = [];
  const log = createLog({ level: "warn", format: "json" });
  const [stream] = Object.getOwnPropertySymbols(log).filter(
    (symbol) => String(symbol) === "Symbol(pino.stream)",
  );
  Object.assign(log, { [stream as symbol]: { write: (line: string) => lines.push(line) } });
  const startedMs = performance.now();

  log.warn({ detail: "* (at /days/7) expected one of mon, got 1\n".repeat(1_000_000) }, "refused");

  expect(performance.now() - startedMs).toBeLessThan(5_000);
  expect(lines[0]?.length).toBeLessThan(200_000);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    msg: "refused",
    detail: expect.stringContaining("(at /days/7) expected"),
  });
});

it("rows are refused before there are so many that nobody can read, apply or remove any", async () => {
  const program = await startProgram();
  onTestFinished(() => program.dispose());
  const call = async (handler: string, body: object = {}) => {
    const { status } = await program.post(`vedette.v1.Definitions/singleton/${handler}`, body);
    return status;
  };
  const none = Object.fromEntries(sectionNames.map((name) => [name, []]));
  const source = (index: number) => {
    const labels = { a: ["x".repeat(1_000_000)] };
    return { name: `s${index}`, title: `s${index}`, kind: "http", environment: null, labels };
  };
  const apply = (sources: object[], fields: object = {}) =>
    call("Apply", { definitions: { ...none, sources }, ...fields });

  const applied: number[] = [];
  while (applied.length < 40 && (applied.at(-1) ?? 200) === 200)
    applied.push(await apply([source(applied.length)]));

  expect(applied.at(-1)).toBe(400);
  expect(await call("Show")).toBe(200);
  expect(await apply([source(0)], { prune: true })).toBe(200);
});
