/** What callers and load balancers see of a program that is stopping. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "0",
    VEDETTE_SHUTDOWN_DELAY_SECONDS: "20",
  });
});

afterAll(() => program?.dispose());

it("announces its shutdown and continues to serve for the set time before it ends", async () => {
  const { api, control, metrics } = program.endpoints();
  const ready = await fetch(`${metrics}/readyz`);
  const stopped = program.stop();

  await waitFor(async () => (await fetch(`${api}/v2/liveness`)).status === 503, {
    withinMs: 20_000,
    what: "the public API to say that it goes away",
  });
  const health = await fetch(`${control}/healthz`);
  const served = await fetch(`${api}/v2/keys.verifyKey`, {
    method: "POST",
    headers: { authorization: "Bearer unknown", "content-type": "application/json" },
    body: JSON.stringify({ key: "any" }),
  });

  const unready = await fetch(`${metrics}/readyz`);
  const alive = await fetch(`${metrics}/livez`);

  expect(ready.status).toBe(200);
  expect(await unready.json()).toMatchObject({ status: "leaving" });
  expect([unready.status, alive.status]).toEqual([503, 200]);
  expect(health.status).toBe(503);
  expect(health.headers.get("connection")).toBe("close");
  expect(served.status).toBe(401);
  expect(served.headers.get("connection")).toBe("close");
  expect(await stopped).toBe(0);
  await expect(fetch(`${api}/v2/liveness`)).rejects.toThrow();
});
