/** The OpenAPI description of the public API, generated from the schemas that validate requests. */
import { z } from "zod";
import { type ErrorCode, errorCatalogue } from "#api/error.ts";
import type { Procedure, Procedures } from "#api/procedure.ts";
import { Pagination } from "#api/schemas/resources.ts";
import { errorPages } from "./error-pages.ts";
import {
  exampleMeta,
  type Json,
  json,
  liveness,
  metaSchema,
  ref,
  refusalSchema,
} from "./fixed-schemas.ts";

export type ApiDescription = {
  openapi: "3.1.0";
  info: Json;
  servers: Json[];
  security: Json[];
  tags: Json[];
  paths: Record<string, Json>;
  components: { securitySchemes: Json; schemas: Record<string, Json> };
};

/** The version of the wire contract, not of this program. */
const apiVersion = "2.0.0";

/** Answers of any procedure besides 200. */
const commonRefusals = [400, 401, 403, 408, 413, 429, 500, 503];

const about = `Every operation is a POST of a JSON object to \`/v2/{namespace}.{procedure}\`, with a root
key in the Authorization header. Every answer has \`meta.requestId\`, by which its log line is found.
A refusal has \`error.type\`: the address of a page that says what it means and what to do.`;

export function describeApi(namespaces: Record<string, Procedures>): ApiDescription {
  const procedures = Object.entries(namespaces).flatMap(([namespace, entries]) =>
    Object.entries(entries).map(([name, procedure]) => ({ namespace, name, procedure })),
  );
  return {
    openapi: "3.1.0",
    info: { title: "Vedette public API", version: apiVersion, description: about },
    servers: [{ url: "/", description: "The server that this description came from" }],
    security: [{ rootKey: [] }],
    tags: Object.keys(namespaces).map((name) => ({ name })),
    paths: {
      "/v2/liveness": { get: liveness },
      ...Object.fromEntries(
        procedures.map((named) => [
          `/v2/${named.namespace}.${named.name}`,
          { post: describeProcedure(named) },
        ]),
      ),
    },
    components: {
      securitySchemes: {
        rootKey: {
          type: "http",
          scheme: "bearer",
          description: "A root key, as `vedette keys create-root` makes one.",
        },
      },
      schemas: {
        ...Object.fromEntries(procedures.flatMap(schemasOf)),
        Meta: metaSchema,
        Refusal: refusalSchema(false),
        InvalidRequest: refusalSchema(true),
      },
    },
  };
}

type NamedProcedure = { namespace: string; name: string; procedure: Procedure };

/** `KeysVerifyKey`, before `Request` and `Response`. */
function schemaName({ namespace, name }: NamedProcedure): string {
  return [namespace, name].map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
}

function describeProcedure(named: NamedProcedure): Json {
  const { namespace, name, procedure } = named;
  const { summary, description, example, refusals = [], errorsAreProblems } = procedure;
  const { body, ...answer } = example;
  const statuses = [...new Set([...commonRefusals, ...refusals])].sort((a, b) => a - b);
  return {
    operationId: `${namespace}.${name}`,
    tags: [namespace],
    summary,
    ...(description !== undefined && { description: description() }),
    requestBody: { required: true, content: json(ref(`${schemaName(named)}Request`), body) },
    responses: {
      "200": {
        description: "Done.",
        content: json(ref(`${schemaName(named)}Response`), { meta: exampleMeta, ...answer }),
      },
      ...Object.fromEntries(
        statuses.map((status) => [status, describeRefusal(status, errorsAreProblems === true)]),
      ),
    },
  };
}

function describeRefusal(status: number, isProblem: boolean): Json {
  const codes = Object.entries(errorCatalogue).filter(([, [of]]) => of === status);
  const [, [, title]] = codes[0] ?? ["", [status, "Refused"]];
  const reasons = codes.map(([code]) => `- \`${code}\`: ${errorPages[code as ErrorCode].means}`);
  const schema = ref(hasFaults(status) ? "InvalidRequest" : "Refusal");
  const mediaType = isProblem || status === 429 ? "application/problem+json" : "application/json";
  return {
    description: [`${title}. By the end of \`error.type\`:`, "", ...reasons].join("\n"),
    content: { [mediaType]: { schema } },
  };
}

const hasFaults = (status: number) => [400, 408, 413].includes(status);

function schemasOf(named: NamedProcedure): [string, Json][] {
  const { input, output } = named.procedure;
  const name = schemaName(named);
  const request = toJsonSchema(input, "input");
  return [
    [`${name}Request`, request],
    [
      `${name}Response`,
      {
        type: "object",
        properties: {
          meta: ref("Meta"),
          ...(output !== undefined && { data: describeData(output) }),
          ...(isPaged(request) && { pagination: toJsonSchema(Pagination, "output") }),
        },
        required: [
          "meta",
          ...(output === undefined ? [] : ["data"]),
          ...(isPaged(request) ? ["pagination"] : []),
        ],
      },
    ],
  ];
}

function describeData(output: z.ZodType): Json {
  return { description: "The result of the call.", ...toJsonSchema(output, "output") };
}

/** A list of which a caller gets a page at a time. */
function isPaged({ properties }: Json): boolean {
  return typeof properties === "object" && properties !== null && "cursor" in properties;
}

/** Draft 2020-12, the dialect of OpenAPI 3.1. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...found } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // A later version may add members to an answer: clients must not refuse them.
      const isClosed = io === "output" && jsonSchema.additionalProperties === false;
      if (isClosed) delete jsonSchema.additionalProperties;
    },
  });
  return found;
}
