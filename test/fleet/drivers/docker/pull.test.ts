/** What an engine is told when it has to pull. */
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { Engine } from "#fleet/drivers/docker/engine.ts";
import { createPull, type FindCredential } from "#fleet/drivers/docker/pull.ts";

/** Pulls an image that an engine lacks; answers whose credential was looked up, and what the engine was given. */
async function pull(image: string, findCredential: FindCredential) {
  const asked: string[][] = [];
  let header: string | undefined;
  const engine: Pick<Engine, "call" | "open"> = {
    call: async () => ({ status: 404, body: {}, nowMs: 0 }),
    open: async ({ headers }) => {
      header = headers?.["x-registry-auth"];
      return { statusCode: 200, body: Readable.from([]) } as never;
    },
  };
  const find: FindCredential = (registry, repository) => {
    asked.push([registry, repository]);
    return findCredential(registry, repository);
  };
  await createPull(engine as Engine, { findCredential: find, limitMs: 1_000 })(image);
  return { asked, given: header && JSON.parse(Buffer.from(header, "base64url").toString()) };
}

it.each([
  ["r.io:5000/team/gateway:v1", ["r.io:5000", "team/gateway"]],
  ["localhost/gateway:v1", ["localhost", "gateway"]],
  ["R.io:5000/a/b:v1", ["r.io:5000", "a/b"]],
  ["team/gateway:v1", ["docker.io", "team/gateway"]],
  ["gateway:v1", ["docker.io", "library/gateway"]],
  ["docker.io/gateway:v1", ["docker.io", "library/gateway"]],
  ["index.docker.io/team/gateway:v1", ["docker.io", "team/gateway"]],
])("an engine pulls %s with the credential of its repository", async (image, where) => {
  const { asked, given } = await pull(image, () => ({ user: "u", password: "p" }));

  expect(asked).toEqual([where]);
  expect(given).toMatchObject({ username: "u", password: "p" });
});

it("an engine pulls without a credential where there is none", async () => {
  const { given } = await pull("r.io/gateway:v1", () => undefined);

  expect(given).toBeUndefined();
});
