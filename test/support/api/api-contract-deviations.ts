/**
 * Where the wire contract says what its own server does not do, or leaves out what it does. What is
 * relaxed here is answered so by the service whose contract it is, and its clients depend on it.
 */
import type { Contract, Schema } from "./api-contract.ts";

const problem = (name: string) => ({ schema: { $ref: `#/components/schemas/${name}` } });

/**
 * Answered, but not declared, by any procedure: too long a wait, too large a body, and what a procedure needs does not
 * answer, for which clients retry a 503 as they do the 500 of their own service.
 */
const anywhere = {
  "408": "BadRequestErrorResponse",
  "413": "BadRequestErrorResponse",
  "503": "ServiceUnavailableErrorResponse",
};

/** Answered, but not declared, by some. */
const undeclared: Record<string, Record<string, string>> = {
  "permissions.deleteRole": { "404": "NotFoundErrorResponse" },
  "apis.listKeys": { "412": "PreconditionFailedErrorResponse" },
  "keys.createKey": { "412": "PreconditionFailedErrorResponse" },
  "keys.getKey": { "412": "PreconditionFailedErrorResponse" },
  "keys.rerollKey": { "412": "PreconditionFailedErrorResponse" },
  "keys.verifyKey": { "412": "PreconditionFailedErrorResponse" },
  "keys.whoami": { "412": "PreconditionFailedErrorResponse" },
  "analytics.getVerifications": { "412": "PreconditionFailedErrorResponse" },
};

/** Changes `contract` in place, and answers it. */
export function relax(contract: Contract): Contract {
  const { schemas } = contract.components;
  for (const [path, methods] of Object.entries(contract.paths)) {
    const procedure = path.replace("/v2/", "");
    const { post } = methods;
    if (post === undefined) continue;
    const isProblem = procedure === "identities.deleteIdentity";
    const mediaType = isProblem ? "application/problem+json" : "application/json";
    for (const [status, name] of Object.entries({ ...anywhere, ...undeclared[procedure] })) {
      post.responses[status] ??= { content: { [mediaType]: problem(name) } };
    }
  }
  // The base is closed, so that literally no body with `errors` is one.
  schemas["BadRequestErrorDetails"] = withErrors(schemas["BaseError"] as Schema);
  // A limit given with a verification has no id, and `reset` is a time, not a duration.
  change(schemas, "VerifyKeyRatelimitData", { id: ["minLength", "pattern"] });
  change(schemas, "VerifyKeyRatelimitData", { reset: ["maximum"] });
  // A limit of 0 may be given with a verification, and blocks.
  change(schemas, "VerifyKeyRatelimitData", { limit: ["minimum"] });
  // A migrated key is known by its hash alone until it is first used.
  change(schemas, "KeyResponseData", { start: ["minLength"] });
  // Larger limits and durations may be asked for than may be answered.
  change(schemas, "VerifyKeyRatelimitData", bounds("limit", "duration", "remaining"));
  change(schemas, "RatelimitResponse", bounds("limit", "duration"));
  // Longer names and identifiers too.
  change(schemas, "VerifyKeyRatelimitData", { name: ["maxLength"] });
  change(schemas, "RatelimitOverride", { identifier: ["maxLength"] });
  // A role may be given more permissions than it may be answered with.
  change(schemas, "Role", { permissions: ["maxItems"] });
  return contract;
}

function withErrors(base: Schema): Schema {
  return {
    ...base,
    properties: {
      ...(base["properties"] as Schema),
      errors: { type: "array", items: { $ref: "#/components/schemas/ValidationError" } },
    },
    required: [...(base["required"] as string[]), "errors"],
  };
}

function bounds(...names: string[]): Record<string, string[]> {
  return Object.fromEntries(names.map((name) => [name, ["maximum"]]));
}

/** Takes keywords away from properties of a schema. */
function change(
  schemas: Record<string, Schema>,
  name: string,
  without: Record<string, readonly string[]>,
): void {
  const schema = schemas[name] as Schema;
  const properties = { ...(schema["properties"] as Record<string, Schema>) };
  for (const [property, keywords] of Object.entries(without)) {
    const kept = Object.entries(properties[property] as Schema);
    properties[property] = Object.fromEntries(kept.filter(([key]) => !keywords.includes(key)));
  }
  schemas[name] = { ...schema, properties };
}
