import { describe, expect, it } from "vitest";
import { testServer } from "../../support/api/api-server.ts";

describe("GET /v2/liveness", () => {
  it("answers as the contract has it, to anyone", async () => {
    const answer = await testServer().inject({ method: "GET", url: "/v2/liveness" });

    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toContain("application/json");
    expect(answer.json()).toEqual({
      meta: { requestId: expect.stringMatching(/^req_[A-Za-z0-9]{16}$/) },
      data: { message: "we're cooking" },
    });
  });

  it("answers 503 and closes its connections when the process is about to end", async () => {
    const app = testServer({}, { isLeaving: () => true });

    const answer = await app.inject("/v2/liveness");
    const other = await app.inject({ method: "POST", url: "/v2/keys.nothing" });

    expect(answer.statusCode).toBe(503);
    expect([answer.headers.connection, other.headers.connection]).toEqual(["close", "close"]);
  });

  it("names each request differently", async () => {
    const app = testServer();
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await app.inject("/v2/liveness")).json().meta.requestId),
    );

    expect(new Set(ids).size).toBe(3);
  });
});

it("the server answers 404 in plain text for what is no procedure", async () => {
  const answer = await testServer().inject({ method: "POST", url: "/v2/keys.nothing" });

  expect(answer.statusCode).toBe(404);
  expect(answer.headers["content-type"]).toContain("text/plain");
});

it("the server answers 405 with what is allowed for a path that has other methods", async () => {
  const answer = await testServer().inject({ method: "POST", url: "/v2/liveness" });

  expect(answer.statusCode).toBe(405);
  expect(answer.headers.allow).toBe("GET, HEAD");
});
