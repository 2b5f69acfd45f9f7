/** The OpenAPI description of the public API, generated from the schemas that validate requests. */
import { z } from "zod";
import { type ErrorCode, errorCatalogue } from "#api/error.ts";
import type { Procedure, Procedures } from "#api/procedure.ts";
import { Pagination } from "#api/schemas/resources.ts";
import { errorPages } from "./error-pages.ts";

/** The parts of the OpenAPI description that are the same whatever the procedures. */
type Json = { readonly [member: string]: unknown };

/** The `meta` of an example's answer. */
const exampleMeta = { requestId: "req_m3Tq8ZrPw6Xk1VbN" };

const metaSchema: Json = {
  type: "object",
  description: "Of the request itself.",
  properties: {
    requestId: { type: "string", description: "Names the request in the log and to the operator." },
  },
  required: ["requestId"],
};

/** Returns the schema of a refusal; `withFaults`: also of the faults of the request's body. */
function refusalSchema(withFaults: boolean): Json {
  const faults = {
    type: "array",
    description: "What is wrong with the body, and where; empty for a rule no schema can state.",
    items: {
      type: "object",
      properties: {
        location: { type: "string", description: "The keyword of the schema that was broken." },
        message: { type: "string", description: "What was wrong there." },
        fix: { type: "string", description: "What to send instead, where that can be said." },
      },
      required: ["location", "message"],
    },
  };
  const error = {
    type: "object",
    description: "Why the request was refused.",
    properties: {
      title: { type: "string", description: "The kind of error, the same for all of its kind." },
      detail: { type: "string", description: "What went wrong, for people." },
      status: { type: "integer", description: "The HTTP status." },
      type: { type: "string", description: "The address of a page about this kind of error." },
      ...(withFaults && { errors: faults }),
    },
    required: ["title", "detail", "status", "type", ...(withFaults ? ["errors"] : [])],
  };
  return { type: "object", properties: { meta: ref("Meta"), error }, required: ["meta", "error"] };
}

/** The one operation that is no procedure. */
const liveness: Json = {
  operationId: "liveness",
  tags: ["liveness"],
  summary: "Whether this process serves. Checks nothing else.",
  security: [],
  responses: {
    "200": {
      description: "It serves.",
      content: json({
        type: "object",
        properties: {
          meta: ref("Meta"),
          data: {
            type: "object",
            description: "What the process says of itself.",
            properties: {
              message: {
                type: "string",
                description: "`we're cooking`, or `we're closing` while the process ends.",
              },
            },
            required: ["message"],
          },
        },
        required: ["meta", "data"],
      }),
    },
  },
};

function json(schema: Json, example?: unknown): Json {
  return { "application/json": { schema, ...(example !== undefined && { example }) } };
}

function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

type ApiDescription = {
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
