import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { procedureNames } from "../../support/api/api-contract.ts";
import { testServer } from "../../support/api/api-server.ts";

/** Every procedure that the published client calls, such as `apps.createApp`, from its generated code. */
function readClientProcedures(): string[] {
  const main = fileURLToPath(import.meta.resolve("@unkey/api"));
  const folder = `${main.slice(0, main.indexOf("/@unkey/api/"))}/@unkey/api/src/funcs`;
  const sources = globSync("*.ts", { cwd: folder }).map((file) =>
    readFileSync(`${folder}/${file}`, "utf8"),
  );
  const names = sources.flatMap((text) =>
    Array.from(text.matchAll(/pathToFunc\("\/v2\/([\w.]+)"\)/g), ([, name = ""]) => name),
  );
  return names.toSorted();
}

const hosted = readClientProcedures().filter((name) => !procedureNames.includes(name));

const post = (url: string) =>
  testServer().inject({
    method: "POST",
    url,
    headers: { authorization: "Bearer nobody" },
    payload: { any: "body" },
  });

it("the published client has procedures beside those of the contract", () => {
  expect(hosted).toContain("projects.createProject");
  expect(hosted.length).toBeGreaterThan(30);
});

describe.each(hosted)("%s of the published client", (name) => {
  it("is answered as one of the hosted platform, in the shape of other refusals", async () => {
    const answer = await post(`/v2/${name}`);

    expect(answer.statusCode).toBe(404);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json()).toEqual({
      meta: { requestId: expect.stringMatching(/^req_[A-Za-z0-9]{16}$/) },
      error: {
        title: "Not Found",
        detail: `'${name}' belongs to the hosted platform of the published client and is not served here.`,
        status: 404,
        type: "https://docs.test/errors/unkey/application/hosted_platform_only",
      },
    });
  });
});

it.each([
  "/v2/projects",
  "/v2/projects.",
  "/v2/projects.create/one",
  `/v2/projects.${"x".repeat(101)}`,
  "/v1/projects.createProject",
])("a POST of %s names no procedure and is answered in plain text", async (url) => {
  const answer = await post(url);

  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([404, "text/plain"]);
});

it("a GET of a procedure of the hosted platform is answered in plain text", async () => {
  const answer = await testServer().inject("/v2/projects.listProjects");

  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([404, "text/plain"]);
});

it("docs/public-api.md names every namespace of the hosted platform", () => {
  const page = readFileSync(new URL("../../../docs/public-api.md", import.meta.url), "utf8");
  const namespaces = new Set(hosted.map((name) => `\`${name.split(".")[0]}\``));

  expect([...namespaces].filter((name) => !page.includes(name))).toEqual([]);
});
