/** Schemas shared by procedures of the namespace `identities`. */
import { list } from "#api/schemas/list.ts";
import { RatelimitRequest } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";

/** An identity by its id or its external id. */
export const IdentityRef = text({ min: 1 }).describe(
  "The id of the identity, `id_…`, or your own id of the user or tenant.",
);

export const Ratelimits = list(RatelimitRequest, { max: 50 });
