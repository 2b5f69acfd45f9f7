import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const module_ = fileURLToPath(new URL("../../src/kernel/log.ts", import.meta.url));

function logFromChild(call: string, format = "auto"): string {
  const script = `import { createLog } from ${JSON.stringify(module_)};
    const log = createLog({ level: "info", format: "${format}" }); ${call}`;
  const args = ["--input-type=module-typescript", "--eval", script];
  return execFileSync(process.execPath, args, { timeout: 20_000 }).toString();
}

it("writes one JSON object per line where there is no terminal", () => {
  const lines = logFromChild('log.info({ wave: 1 }, "starting wave"); log.info("second");');

  const parsed = lines
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(parsed).toMatchObject([{ wave: 1, msg: "starting wave" }, { msg: "second" }]);
});

it("keeps secrets out, wherever a field carries them", () => {
  const lines = logFromChild(
    'log.info({ token: "s1", a: { authorization: "s2", b: { password: "s3" } } }, "x");',
  );

  expect(lines).not.toMatch(/s1|s2|s3/);
});

it("masks secrets in words of others, and in errors with their causes", () => {
  const lines = logFromChild(`
    const cause = new Error("connecting to postgres://gw:s1@db");
    log.warn({ detail: "sent vds_s2aaaaaaaaa", err: new Error("vedette_root_s3aaaaaaaa", { cause }) }, "x");
    log.warn({ err: null, reason: null, detail: 5 }, "y");
  `);

  expect(lines).not.toMatch(/s1|s2|s3/);
  expect(lines).toContain("connecting to postgres://***@db");
  expect(
    lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).msg),
  ).toEqual(["x", "y"]);
});

it("masks secrets in whatever else an error has, and in words of child processes", () => {
  const lines = logFromChild(`
    const secret = "vedette_root_s1aaaaaaaa";
    log.error({ err: new AggregateError([new Error(secret), new Error("refused")]) }, "x");
    log.error({ err: Object.assign(new Error("y"), { code: "23505", detail: secret, inner: new Error(secret) }) });
    log.error({ err: secret, line: secret, last_words: secret });
  `);

  expect(lines).not.toContain("s1a");
  expect(lines).toContain('"causes":"***; refused"');
  expect(lines).toContain('"code":"23505"');
});

/** As a registry, a check's server or a caller could send it. */
const hostile = "\u202egnp.exe\u2066 \u200e\u061c\u001b[2J\u009b2J\u2028";
const logsHostile = `const hostile = ${JSON.stringify(hostile)};
  log.warn({ detail: hostile, other: hostile, [hostile]: { a: [hostile] }, err: new Error(hostile) }, hostile);`;

it("a readable log contains nothing of others that changes text direction or controls a terminal", () => {
  const lines = logFromChild(logsHostile, "pretty");

  expect(lines).toContain("gnp.exe");
  expect(lines.replaceAll("\n", "")).not.toMatch(/\p{C}|\u2028/u);
});

it("a JSON log escapes direction marks, and parses to the same text", () => {
  const line = logFromChild(logsHostile);

  expect(line).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(line)).toMatchObject({ detail: hostile, [hostile]: { a: [hostile] } });
});

const parse = (lines: string) =>
  lines
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const away = 'Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })';

it("requests that fail because the database is away are logged once in some seconds, without a stack", () => {
  const lines = logFromChild(`for (let i = 0; i < 100; i += 1) {
    log.error({ err: ${away}, requestId: "r" + i, path: "/status/" + i }, "call failed");
    log.error({ err: new AggregateError([], "", { cause: ${away} }), step: "list-checks" }, "not read");
    log.warn({ err: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }), path: "/" + i }, "gone");
  }`);

  expect(parse(lines)).toMatchObject([
    { msg: "call failed", requestId: "r0", err: { code: "ECONNREFUSED" } },
    { msg: "not read", step: "list-checks" },
    { msg: "gone", path: "/0" },
  ]);
  expect(lines).not.toContain('"stack"');
});

it("requests that fail because of a bug are all logged, with their stacks", () => {
  const lines = logFromChild(`for (let i = 0; i < 3; i += 1)
    log.error({ err: new TypeError("x is undefined"), requestId: "r" + i }, "call failed");`);

  expect(parse(lines).map(({ requestId }) => requestId)).toEqual(["r0", "r1", "r2"]);
  expect(lines.match(/"stack":"TypeError: x is undefined/g)).toHaveLength(3);
});

it("lines about an object that cannot be reached are all logged", () => {
  const lines = logFromChild(`for (const sentinel of ["gw-1", "gw-2"])
    log.error({ err: ${away}, sentinel }, "sentinel not replaced");`);

  expect(parse(lines).map(({ sentinel }) => sentinel)).toEqual(["gw-1", "gw-2"]);
});
