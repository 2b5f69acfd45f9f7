/** What the reference page says of every procedure: each member in words, and an example of each body. */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { expectContract, requestValidator } from "../../support/api/api-contract.ts";
import { unconnectedApi } from "../../support/api/unconnected-api.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test looks into a document of many shapes
type Loose = any;

const document = (await unconnectedApi().inject("/v2/openapi.json")).json() as Loose;

const procedures = Object.keys(document.paths)
  .filter((path) => path !== "/v2/liveness")
  .map((path) => path.replace("/v2/", ""));

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: "document", ...document });

function faultsIn(content: Loose): unknown {
  const { schema, example } = content["application/json"];
  const validate = ajv.getSchema(`document${schema.$ref}`) as Loose;
  validate(example);
  return validate.errors ?? [];
}

const follow = (schema: Loose): Loose =>
  schema.$ref === undefined
    ? schema
    : document.components.schemas[schema.$ref.replace("#/components/schemas/", "")];

/** Where in a schema a member has no description, for example `keys[].credits.refill`. */
function undescribed(found: Loose, at = ""): string[] {
  const schema = follow(found);
  const members = Object.entries(schema.properties ?? {}).flatMap(
    ([name, member]: [string, Loose]) => {
      const where = at === "" ? name : `${at}.${name}`;
      const isSaid = Boolean(member.description?.trim() || follow(member).description?.trim());
      return [...(isSaid ? [] : [where]), ...undescribed(member, where)];
    },
  );
  const parts = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => some ?? []);
  return [
    ...members,
    ...parts.flatMap((part) => undescribed(part, at)),
    ...(typeof schema.items === "object" ? undescribed(schema.items, `${at}[]`) : []),
    ...(typeof schema.additionalProperties === "object"
      ? undescribed(schema.additionalProperties, `${at}{}`)
      : []),
  ];
}

const schemasOf = (operation: Loose): Loose[] =>
  [operation.requestBody, ...Object.values(operation.responses)]
    .flatMap((body: Loose) => Object.values(body?.content ?? {}))
    .map((content: Loose) => content.schema);

describe("/v2/openapi.json", () => {
  it.each(Object.keys(document.paths))("says what each member of %s means", (path) => {
    const [operation] = Object.values(document.paths[path]);

    const missing = schemasOf(operation).flatMap((schema) => undescribed(schema));

    expect(missing).toEqual([]);
  });

  it("would notice a member without a description", () => {
    const schema = {
      properties: {
        said: { description: "Said.", anyOf: [{ properties: { inUnion: {} } }, { type: "null" }] },
        list: { description: "Said.", items: { properties: { inList: { description: " " } } } },
        unsaid: {},
      },
    };

    expect(undescribed(schema)).toEqual(["said.inUnion", "list[].inList", "unsaid"]);
  });

  it.each(procedures)("has a body that %s takes", (name) => {
    const { content } = document.paths[`/v2/${name}`].post.requestBody;
    const { example } = content["application/json"];

    expect(example).toBeDefined();
    expect(faultsIn(content)).toEqual([]);
    expect(requestValidator(name)(example)).toBe(true);
  });

  it.each(procedures)("has an answer that %s may give", (name) => {
    const { content } = document.paths[`/v2/${name}`].post.responses["200"];
    const { example } = content["application/json"];

    expect(example).toBeDefined();
    expect(faultsIn(content)).toEqual([]);
    const answer = { procedure: name, status: 200, contentType: "application/json" };
    expect(expectContract({ ...answer, text: JSON.stringify(example) })).toEqual(example);
  });
});
