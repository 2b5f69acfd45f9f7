/** The wire contract of the public API, and a judge of requests and answers by it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { relax } from "./api-contract-deviations.ts";

/** A JSON Schema as the contract has them. */
export type Schema = { readonly [keyword: string]: unknown };

type Content = Record<string, { schema: Schema }>;
type Operation = {
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
};
export type Contract = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const file = fileURLToPath(new URL("../../contract/public-api.openapi.json", import.meta.url));
const contract = relax(JSON.parse(readFileSync(file, "utf8")) as Contract);

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictTypes: false });
formats.default(ajv);
ajv.addFormat("int", { type: "number", validate: Number.isInteger });
ajv.addVocabulary(["openapi", "info", "security", "paths", "components"]);
ajv.addSchema(contract, "contract");

/** All 43, for example `keys.createKey`. */
export const procedureNames = Object.keys(contract.paths)
  .filter((path) => contract.paths[path]?.["post"] !== undefined)
  .map((path) => path.replace("/v2/", ""));

/** A schema of the contract with each `$ref` followed: none of those of requests is recursive. */
export function resolve(schema: Schema): Schema {
  const { $ref } = schema;
  if (typeof $ref !== "string") return schema;
  return contract.components.schemas[$ref.replace("#/components/schemas/", "")] as Schema;
}

/** What the contract wants of a procedure's body. */
export function requestSchema(procedure: string): Schema {
  const schema = contractOperation(procedure).requestBody?.content["application/json"]?.schema;
  if (schema === undefined) throw new Error(`${procedure} has no body in the contract`);
  return resolve(schema);
}

/** Tells whether a body is what the contract lets a caller send to a procedure. */
export function requestValidator(procedure: string): (body: unknown) => boolean {
  const $ref =
    contractOperation(procedure).requestBody?.content["application/json"]?.schema["$ref"];
  return validatorOf(String($ref));
}

export type ContractAnswer = {
  /** As in the path: `keys.createKey`, `liveness`. */
  procedure: string;
  status: number;
  contentType: string | null | undefined;
  /** The body as it was received. */
  text: string;
};

/** Throws when an answer is not one that the contract declares; answers its body. */
export function expectContract(answer: ContractAnswer): unknown {
  const { procedure, status, text } = answer;
  const fail = (what: string): never => {
    throw new Error(`breach of contract: ${procedure} ${status}: ${what}\n${text.slice(0, 2_000)}`);
  };
  const { responses } = contractOperation(procedure);
  const content = responses[String(status)]?.content ?? fail("status not declared");
  const mediaType = (answer.contentType ?? "").split(";")[0]?.trim() ?? "";
  const schema = content[mediaType]?.schema ?? fail(`media type '${mediaType}' not declared`);
  const body = parseJson(text) ?? fail("body is not JSON");
  const validate = validatorOf(String(schema["$ref"]));
  if (!validate(body)) fail(describe(validate.errors ?? []));
  const stated = (body as { error?: { status?: number } }).error?.status;
  if (stated !== undefined && stated !== status) fail(`error.status is ${stated}`);
  return body;
}

/** `fetch`, with each answer of a procedure held against the contract. */
export function checkedFetch(inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const url = new URL(input instanceof Request ? input.url : input);
    const procedure = /\/v2\/([^/]+)$/.exec(url.pathname)?.[1];
    if (procedure === undefined || !(`/v2/${procedure}` in contract.paths)) return response;
    if (response.status === 405) return response;
    expectContract({
      procedure,
      status: response.status,
      contentType: response.headers.get("content-type"),
      text: await response.clone().text(),
    });
    return response;
  };
}

/** What the contract has of a procedure: `keys.createKey`, `liveness`. */
export function contractOperation(procedure: string): Operation {
  const operation = Object.values(contract.paths[`/v2/${procedure}`] ?? {})[0];
  if (operation === undefined) throw new Error(`${procedure} is not in the contract`);
  return operation;
}

function validatorOf($ref: string): ValidateFunction {
  const validate = ajv.getSchema(`contract${$ref}`);
  if (validate === undefined) throw new Error(`the contract has no ${$ref}`);
  return validate as ValidateFunction;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe(errors: ErrorObject[]): string {
  return errors.map((error) => `${error.instancePath || "/"} ${error.message}`).join("; ");
}
