/** Another user of the machine listens at the worker's port while the program does not. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { createSelfSigned } from "../../support/http/self-signed.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const digest = (token: string) => createHash("sha256").update(token).digest("hex");
const operator = (name: string) => ({
  [`VEDETTE_CONTROL__OPERATORS__${name.toUpperCase()}__TOKEN`]: digest(`of-${name}`),
});

let program: Program;
let port: number;

beforeAll(async () => {
  port = await freePort();
  program = await startProgram({
    VEDETTE_WORKER__PORT: String(port),
    VEDETTE_FLEET__PROCESS__SIZE: "2",
    VEDETTE_ROLLOUT__APPROVALS: "after_first",
    ...operator("ada"),
    ...operator("ben"),
  });
  const request = { image: "vedette/sentinel:v2", wave_percentages: [50, 100] };
  await program.callAs("of-ada", "Rollout/send", request);
  await untilStatus({ waiting_for: "approval" });
});

afterAll(() => program?.dispose());

const untilStatus = (wanted: Record<string, string>) =>
  waitFor(
    async () => {
      const { body } = await program.call("Status");
      return Object.entries(wanted).every(([name, value]) => body[name] === value);
    },
    { withinMs: 60_000, what: `the rollout's status ${JSON.stringify(wanted)}` },
  );

/** Would take any call, and notes those that come. */
async function listenAt(isSecure: boolean) {
  const calls: unknown[] = [];
  const take = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    calls.push(headers[":path"]);
    stream.on("error", () => {});
    stream.respond({ ":status": 503 }, { endStream: true });
  };
  const tls = await createSelfSigned(["127.0.0.1"], new Date(Date.now() + 3_600_000));
  const server = isSecure
    ? createSecureServer(tls).on("stream", take)
    : createServer().on("stream", take);
  server.on("sessionError", () => {});
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return { calls, close: () => server.close() };
}

it.each([
  ["plainly", false],
  ["with a certificate of its own", true],
] as const)("Restate calls nobody who listens there %s", async (_how, isSecure) => {
  await program.stop();
  const { calls, close } = await listenAt(isSecure);

  await expect(program.start()).rejects.toThrow("worker.port");

  close();
  expect(calls).toEqual([]);
});

it("Restate calls the worker again once it has its port", async () => {
  await program.start();
  await untilStatus({ waiting_for: "approval" });

  const approved = await program.callAs("of-ben", "Approve");

  expect(approved.status).toBe(200);
  await untilStatus({ state: "completed" });
});
