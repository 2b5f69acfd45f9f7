import { fastify } from "fastify";
import { expect, it } from "vitest";
import { createPolled } from "#console/server/console.ts";

/** A server that answers each request with the next one. */
function serve(...answers: object[]) {
  const app = fastify();
  const answerPolled = createPolled();
  app.post("/", (request, reply) => answerPolled({ request, reply }, answers.shift()));
  return async (tag?: unknown) => {
    const headers = tag === undefined ? {} : { "if-none-match": String(tag) };
    const answer = await app.inject({ method: "POST", url: "/", headers });
    return { status: answer.statusCode, tag: answer.headers["etag"], body: answer.json() };
  };
}

const first = { taken_at: "10:00", rows: ["a", "b"] };
const second = { taken_at: "10:05", rows: ["a", "c"] };

it("a page that has the answer before is sent what has changed", async () => {
  const ask = serve(first, second);

  const before = await ask("none");
  const after = await ask(before.tag);

  expect(before).toMatchObject({ status: 200, body: first });
  expect(after.status).toBe(226);
  expect(after.body).toEqual({ taken_at: ["10:05"], rows: { 1: ["c"] } });
});

it("the same answer again has no changes", async () => {
  const ask = serve(first, { ...first });

  const { tag } = await ask("none");

  expect(await ask(tag)).toEqual({ status: 226, tag, body: {} });
});

it("a page with an answer that is not known is sent the whole one", async () => {
  const ask = serve(second);

  expect(await ask("of-another-process")).toMatchObject({ status: 200, body: second });
});

it("who asks once is sent the whole answer, without a tag", async () => {
  const ask = serve(first, first);
  await ask("none");

  expect(await ask()).toEqual({ status: 200, tag: undefined, body: first });
});
