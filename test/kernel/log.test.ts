import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const module_ = fileURLToPath(new URL("../../src/kernel/log.ts", import.meta.url));

function logFromChild(call: string): string {
  const script = `import { createLog } from ${JSON.stringify(module_)};
    const log = createLog({ level: "info", format: "auto" }); ${call}`;
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
