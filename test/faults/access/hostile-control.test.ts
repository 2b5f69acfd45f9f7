/** A server that is no control of ours, or one that was taken over: what it says does nothing to the terminal of a command. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { buildStatus } from "../../support/program/fake-control.ts";

/** Sets the title, copies to the clipboard, hides what follows, writes over a line, and turns the text around. */
const hostile =
  "x\u001b]0;t\u0007\u001b]52;c;eA==\u0007\u001b[8m\u009b2K\rok\u202egnp.\u2066y\u0000";

async function serve(answer: (path: string) => { status?: number; body: unknown }) {
  const server = createServer((request, response) => {
    const { status = 200, body } = answer(request.url ?? "");
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a terminal acts on, but for the line ends and tabs of the command itself. */
const acted = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const status = buildStatus({
  ...{ rollout_id: hostile, state: "paused", image: hostile, reason: hostile, failed: 1 },
  ...{ failed_sentinels: [{ id: hostile, reason: hostile }], cause: "gate" },
});
const running = { ...status, state: "in_progress", total_waves: 0 };

function answers(path: string) {
  if (path.endsWith("/Status")) {
    seen += 1;
    return { body: seen < 3 ? running : status };
  }
  if (path.endsWith("/session")) {
    return { body: { actor: hostile, roles: ["read"], by: "token", ends_at: null } };
  }
  return { status: 400, body: { detail: hostile, code: hostile, title: hostile } };
}
let seen = 0;

const commands = [
  "rollout watch",
  "rollout status",
  "rollout history",
  "rollout start r.example/a:v1",
  "rollout pause",
  "rollout proof x",
  "sentinels list",
  "checks list",
  "alerts events",
  "whoami",
  "status",
  "engine",
];

it.each(commands)("vedette %s prints nothing that a terminal acts on", async (command) => {
  seen = 0;
  const url = await serve(answers);

  const { stdout, stderr, code } = await runVedette(command.split(" "), {
    ...{ VEDETTE_CONTROL_URL: url, INGRESS_TOKEN: "of-the-user", TERM: "xterm" },
  });

  expect(`${stdout}${stderr}`).toContain("ok");
  expect(`${stdout}${stderr}`).not.toMatch(acted);
  expect(code).not.toBeNull();
});
