/** Texts of an author of definitions, where others read or run them: exports, mails, reports, and the message of a mistake. */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { type Program, parse } from "acorn";
import { expect, it } from "vitest";
import { renderMail } from "#alerts/channels/email/mail.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { exportCheckly } from "#monitor/export/checkly.ts";
import { exportAlertmanager } from "#routing/alertmanager/export.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";
import { directoryOf, faultsOf } from "../../support/definitions/definition-files.ts";
import { aHeartbeat, anApiCheck } from "../../support/monitor/check-builders.ts";
import { writeFiles } from "../../support/monitor/exported.ts";
import { runVedette } from "../../support/program/command.ts";
import { aRoute, aSource } from "../../support/routing/route-rows.ts";
import { tempDir } from "../../support/temp-dir.ts";

it.each(["js", "mjs", "ts", "mts"])(
  "a link to a secret that ends with .%s quotes none of it",
  async (ending) => {
    const secrets = directoryOf({ db_password: "blueCanary71" });
    const directory = directoryOf({ "vedette.config.yaml": 'include: ["linked.*"]' });
    symlinkSync(path.join(secrets, "db_password"), path.join(directory, `linked.${ending}`));

    const { stdout, stderr } = await runVedette(["config", "check"], {}, directory);

    expect(stdout).toContain(`linked.${ending}: is a link to a file that is no code`);
    expect(stdout + stderr).not.toContain("blueCanary71");
  },
);

it("a link to code is read, as in a ConfigMap's folder", async () => {
  const directory = directoryOf({ "..data/vedette.config.js": "export default { checks: {} };" });
  symlinkSync("..data/vedette.config.js", path.join(directory, "vedette.config.js"));

  const { stdout } = await runVedette(["config", "check"], {}, directory);

  expect(stdout).toContain("no mistakes");
});

const post = (body: string) =>
  `checks:\n  shop: { url: "https://a.example", method: POST, body: ${body} }`;

it.each(['{ "{{ROOT_KEY}}": 1 }', '{ a: [{ "x{{ AWS_SECRET }}": 1 }] }', '{ "{{{A}}}": 1 }'])(
  "a body with the name %s, which the hosted monitor would fill in, is refused",
  async (body) => {
    expect(await faultsOf({ "vedette.config.yaml": post(body) })).toEqual([
      expect.stringContaining("between double braces is the name of a secret"),
    ]);
  },
);

it("a body with a secret among its values is taken", async () => {
  expect(await faultsOf({ "vedette.config.yaml": post('{ a: ["{{TOKEN}}"] }') })).toEqual([]);
});

const hostile =
  "*/ process.exit(1); /* `$\u007bprocess.exit(2)}` '\" \\ </script> \u2028 {{ $labels.x }}";

it("the exported project of hosted checks has imports and one construct each, whatever they are called", () => {
  const texts = { name: hostile, watches: `**//${hostile}` };
  const apiCheck = anApiCheck({
    name: hostile,
    headers: { a: hostile },
    body: { [hostile]: "*/" },
  });
  const definitions = { apiChecks: [apiCheck], heartbeats: [aHeartbeat(texts)], channels: [] };
  const settings = { baseUrl: "https://api.example.com", secretPrefix: "ACME" };

  const files = exportCheckly(definitions, settings).filter(({ path }) =>
    path.endsWith("check.ts"),
  );

  const kinds = files.map(({ text }) => {
    const { body }: Program = parse(text, { ecmaVersion: "latest", sourceType: "module" });
    return body.map((node) =>
      node.type === "ExpressionStatement" ? node.expression.type : node.type,
    );
  });
  expect(kinds).toEqual(files.map(() => ["ImportDeclaration", "NewExpression"]));
  expect(files).toHaveLength(2);
});

it("the exported script of an alert manager runs nothing that names and labels say", async () => {
  const run = "touch ran";
  const values = [`x'; ${run}; '`, `$(${run})`, `\`${run}\``, `a\n${run}\nb`, "-x", `" ; ${run} #`];
  const labels = Object.fromEntries(values.map((name, index) => [name, [values[index] ?? ""]]));
  const sources = [{ source: "metrics", conditions: [] }];
  const routes = values.map((name) => aRoute({ name, sources, channel: name }));
  const directory = tempDir();
  const source = {
    ...aSource({ labels: { plain: values, ...labels } }),
    environment: "production",
  };
  const delivery = { source, url: "https://a.example", credentialsFile: `/a'; ${run}; '` } as const;
  const other = aRoute({
    sources: [{ source: "metrics", conditions: [{ label: "plain", operation: "one_of", values }] }],
  });
  writeFiles(directory, exportAlertmanager([delivery as never], [other, ...routes]));
  writeFileSync(path.join(directory, "amtool"), '#!/bin/sh\necho "$#" >>calls\n');
  chmodSync(path.join(directory, "amtool"), 0o755);

  const environment = { PATH: `${directory}:${process.env["PATH"]}` };
  await promisify(execFile)("sh", ["check.sh"], { cwd: directory, env: environment });

  expect(existsSync(path.join(directory, "calls"))).toBe(true);
  expect(existsSync(path.join(directory, "ran"))).toBe(false);
});

const email: ChannelOf<"email"> = {
  ...{ id: "ops", kind: "email" as const, url: "smtp://mail.example.com" },
  ...{ tls: "required" as const, from: "ops@example.com", to: ["ops@example.com"] },
};

it.each(["=?utf-8?B?4oCuUmVjb3ZlcmVk?=", "a\r\nBcc: x@y", "=?utf-8?q?=0D=0ABcc:_x@y?=", "==??="])(
  "a mail about %j has a subject of one line and no text in another encoding",
  (name) => {
    const { subject } = renderMail(buildMessage({ name }), email, "a@b.c");

    expect(subject).not.toMatch(/=\?|[\r\n]/);
    expect(subject).toContain("[production] ");
  },
);

it("a report of routes has no line that a name has made", async () => {
  const text = {
    sources: { am: { title: "AM", kind: "alertmanager", environment: "production", labels: {} } },
    routes: {
      "A\n::error::made": {
        ...{ sources: [{ source: "am", conditions: [] }], escalation: "E\n::error::made" },
        channel: "#c\n::error::made",
      },
      "B\n::error::made": {
        ...{ sources: [{ source: "am", conditions: [] }], escalation: null, channel: "#c" },
      },
    },
  };
  const directory = directoryOf({ "vedette.config.json": JSON.stringify(text) });

  const lint = await runVedette(["alerts", "lint"], {}, directory);
  const simulated = await runVedette(["alerts", "simulate", "--source", "am"], {}, directory);

  const lines = `${lint.stdout}\n${simulated.stdout}`.split("\n");
  expect(lines.filter((line) => line.includes("made")).length).toBeGreaterThan(2);
  expect(lines.filter((line) => line.startsWith("::"))).toEqual([]);
});
