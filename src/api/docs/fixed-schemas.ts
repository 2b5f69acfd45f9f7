/** The parts of the OpenAPI description that are the same whatever the procedures. */

export type Json = { readonly [member: string]: unknown };

/** The `meta` of an example's answer. */
export const exampleMeta = { requestId: "req_m3Tq8ZrPw6Xk1VbN" };

export const metaSchema: Json = {
  type: "object",
  description: "Of the request itself.",
  properties: {
    requestId: { type: "string", description: "Names the request in the log and to the operator." },
  },
  required: ["requestId"],
};

/** Returns the schema of a refusal; `withFaults`: also of the faults of the request's body. */
export function refusalSchema(withFaults: boolean): Json {
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
  return {
    type: "object",
    properties: { meta: ref("Meta"), error },
    required: ["meta", "error"],
  };
}

/** The one operation that is no procedure. */
export const liveness: Json = {
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

/** A body of JSON, and an example of one. */
export function json(schema: Json, example?: unknown): Json {
  return { "application/json": { schema, ...(example !== undefined && { example }) } };
}

export function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
