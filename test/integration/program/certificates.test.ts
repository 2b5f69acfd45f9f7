/** HTTPS as an operator sets it up: host names in the settings, and nothing else. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AcmeDirectory, startAcmeDirectory } from "../../support/http/acme-directory.ts";
import { connectTls, getOver } from "../../support/http/tls-client.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const name = "api.example.test";

let program: Program;
let directory: AcmeDirectory;

beforeAll(async () => {
  // The program may order its certificate before `startProgram` has seen that it is ready.
  const started = Promise.withResolvers<void>();
  directory = await startAcmeDirectory({
    challengesAt: () => started.promise.then(() => ports().challengesAt),
  });
  program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "1",
    VEDETTE_ACME__NAMES: name,
    VEDETTE_ACME__DIRECTORY_URL: directory.url,
    VEDETTE_ACME__HOST: "127.0.0.1",
    VEDETTE_ACME__HTTP_PORT: "0",
    VEDETTE_ACME__HTTPS_PORT: "0",
  });
  started.resolve();
});

afterAll(async () => {
  await program?.dispose();
  await directory?.stop();
});

const logged = (message: string) =>
  program
    .output()
    .split("\n")
    .findLast((line) => line.includes(`"msg":"${message}"`));

const ports = () =>
  JSON.parse(logged("public API by HTTPS") ?? "{}") as { httpsPort: number; challengesAt: string };

const untilServed = () =>
  waitFor(() => logged("certificate in use") !== undefined, {
    withinMs: 40_000,
    what: "the certificate to be served",
  }).catch((cause) => {
    throw new Error(`no certificate; the program said ${program.output()}`, { cause });
  });

it("serves the API by HTTPS soon after the first start", async () => {
  await untilServed();

  const socket = await connectTls({ port: ports().httpsPort, name, root: directory.root });

  expect(await getOver(socket, "/v2/liveness")).toContain("200 OK");
});

it("reports the result of the renewal to an operator", async () => {
  await untilServed();

  const status = await fetch(
    `${program.endpoints().control}/vedette.v1.CronService/certificate-renewal/Status`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
      body: "{}",
    },
  );

  expect(await status.json()).toMatchObject({
    schedule: "every 60 minutes",
    last_run: { outcome: "succeeded", summary: expect.stringContaining("new certificate") },
  });
});

it("serves the stored certificate, and requests no second one, after a restart", async () => {
  await untilServed();
  await program.stop();

  await program.start();

  const socket = await connectTls({ port: ports().httpsPort, name, root: directory.root });
  expect(await getOver(socket, "/v2/liveness")).toContain("200 OK");
  expect(directory.orders).toHaveLength(1);
});
