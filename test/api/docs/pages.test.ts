import { describe, expect, it } from "vitest";
import { errorCatalogue } from "#api/error.ts";
import { testServer } from "../../support/api/api-server.ts";

it("/docs is where the address of the API leads", async () => {
  const answer = await testServer().inject("/");

  expect(answer.statusCode).toBe(302);
  expect(answer.headers.location).toBe("/docs/");
});

describe("/docs/errors", () => {
  it.each(Object.entries(errorCatalogue))("has a page for %s", async (code, [status, title]) => {
    const answer = await testServer().inject(`/docs/errors/${code}`);

    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.body).toContain(`<h1>${title}</h1>`);
    expect(answer.body).toContain(`Status ${status}`);
  });

  it("is where the type of a refusal leads when no other place is set", async () => {
    const app = testServer({}, { docsUrl: "" });
    const procedures = testServer(
      {
        test: {
          any: {
            summary: "",
            input: { safeParse: () => ({ success: true }) } as never,
            output: undefined,
            example: { body: {}, data: undefined },
            handle: () => ({ data: undefined }),
          },
        },
      },
      { docsUrl: "" },
    );

    const refused = await procedures.inject({
      method: "POST",
      url: "/v2/test.any",
      headers: { host: "evil.example" },
      payload: {},
    });
    const { type } = refused.json().error;
    const page = await app.inject(type);

    // Whatever host the caller names: an answer that is kept or passed on leads nobody elsewhere.
    expect(type).toMatch(/^\/docs\/errors\/unkey\//);
    expect(page.statusCode).toBe(200);
  });

  it("lists them all", async () => {
    const answer = await testServer().inject("/docs/errors");

    const links = [...answer.body.matchAll(/href="\/docs\/errors\/([^"]+)"/g)].map(
      ([, code]) => code,
    );
    expect(links).toEqual(Object.keys(errorCatalogue));
  });

  it.each(["none/of/these", "toString", "__proto__", "%3Cscript%3E"])(
    "answers 404 for %s",
    async (code) => {
      const answer = await testServer().inject(`/docs/errors/${code}`);

      expect(answer.statusCode).toBe(404);
      expect(answer.body).not.toContain("<script>");
    },
  );

  it("lets a page run and load nothing", async () => {
    const answer = await testServer().inject("/docs/errors");

    const policy = String(answer.headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("script-src");
    expect(policy).not.toContain("unsafe");
  });
});
