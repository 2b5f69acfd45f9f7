/** The running program lets no check and no channel reach its own services, at the ports that they really have. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptySet } from "#definitions/rows/contract.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const names = {
  restate_ingress: "Restate",
  restate_admin: "Restate",
  worker: "worker",
  control: "control",
  metrics: "metrics",
  database: "Postgres",
} as const;
const services = Object.keys(names) as (keyof typeof names)[];
const portOf = (service: keyof typeof names | "api") =>
  Number(new URL(program.endpoints()[service] ?? "").port);

const apply = async (rows: object) => {
  const definitions = { ...emptySet, ...rows };
  const { status, body } = await program.post("vedette.v1.Definitions/singleton/Apply", {
    definitions,
  });
  expect(body).toMatchObject({ changes: expect.anything() });
  expect(status).toBe(200);
};

const runOf = (id: string) =>
  waitFor(
    async () => {
      const { status, body } = await program.post(`vedette.v1.ApiCheck/${id}/Run`);
      return status === 200 && body;
    },
    { withinMs: 60_000, what: `the run of ${id}` },
  );

describe.each(services)("a check at %s", (service) => {
  const id = service.replaceAll("_", "-");

  it("of TCP is refused", async () => {
    const row = { kind: "tcp", id: `tcp-${id}`, host: "localhost", port: portOf(service) };
    await apply({ checks: [row] });

    const { reason } = await runOf(`tcp-${id}`);

    expect(reason).toContain(`one of Vedette's own services (${names[service]})`);
  });

  it("of steps is refused", async () => {
    const url = `http://127.1:${portOf(service)}/`;
    const row = { kind: "steps", id: `steps-${id}`, steps: [{ method: "POST", url, body: {} }] };
    await apply({ checks: [row] });

    const { reason } = await runOf(`steps-${id}`);

    expect(reason).toContain(`one of Vedette's own services (${names[service]})`);
  });
});

it("a check of the program's own API is made", async () => {
  await apply({ checks: [{ kind: "tcp", id: "api", host: "127.0.0.1", port: portOf("api") }] });

  expect(await runOf("api")).toMatchObject({ grade: "ok" });
});

it("a webhook at Restate is refused", async () => {
  const url = `http://localhost:${portOf("restate_ingress")}/vedette.v1.Definitions`;
  await apply({ channels: [{ id: "hook", kind: "webhook", url }] });

  const { body } = await program.post("vedette.v1.AlertEvents/Test", { channel: "hook" });

  expect(JSON.stringify(body)).toContain("one of Vedette's own services (Restate)");
});
