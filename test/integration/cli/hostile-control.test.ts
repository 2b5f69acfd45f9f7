/** The command line before something that is no control, or one whose data others have written. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { buildStatus } from "../../support/program/fake-control.ts";
import { tempDir } from "../../support/temp-dir.ts";

type Answer = (response: ServerResponse) => void;

const json = (body: unknown, status = 200): Answer => {
  return (response) => response.writeHead(status).end(JSON.stringify(body));
};

/** Runs a command before a server that always answers so. */
async function runBefore(answer: Answer, args: string[]) {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return runVedette(args, {
    VEDETTE_DATA_DIR: tempDir(),
    VEDETTE_CONTROL_URL: `http://127.0.0.1:${port}`,
    INGRESS_TOKEN: "t",
  });
}

const steering = "\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b2J\u202e";
/** All that a terminal might obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

it.each([
  ["shows", ["rollout", "status"]],
  ["prints as JSON", ["rollout", "status", "--json"]],
])("what it %s steers no terminal, whoever has written it", async (_what, args) => {
  const status = buildStatus({ image: `a/b:${steering}`, state: "paused", reason: steering });

  const { stdout, code } = await runBefore(json(status), args);

  expect(code).toBe(0);
  expect(stdout).toContain("a/b:");
  expect(stdout).not.toMatch(obeyed);
});

it("a refusal cannot control the terminal", async () => {
  const { stderr, code } = await runBefore(json({ detail: `no: ${steering}` }, 400), [
    "rollout",
    "cancel",
  ]);

  expect(code).toBe(1);
  expect(stderr).toContain("vedette: no:");
  expect(stderr).not.toMatch(obeyed);
});

it("stops reading a list of sentinels that does not end", async () => {
  const page = { sentinels: [], total: 0, next_cursor: "again" };

  const { stderr, code } = await runBefore(json(page), ["sentinels", "list"]);

  expect(code).toBe(1);
  expect(stderr).toMatch(/does not end|not from Vedette/);
});

it("stops reading an answer that does not end", async () => {
  const flood: Answer = (response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, " ")));
    };
    response.on("drain", more).writeHead(200);
    more();
  };

  const { stderr, code } = await runBefore(flood, ["rollout", "status"]);

  expect(code).toBe(1);
  expect(stderr).toContain("larger than 64 MiB");
});

it("a rollout whose registry cannot be asked ends with what to do", async () => {
  const refusal = { code: "registry_unavailable", detail: "registry.example.com does not answer" };

  const { code, stderr } = await runBefore(json(refusal, 503), [
    "rollout",
    "start",
    "registry.example.com/a:v1",
  ]);

  expect(code).toBe(1);
  expect(stderr).toContain("registry.example.com does not answer");
});
