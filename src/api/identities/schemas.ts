/** What several procedures of the namespace `identities` take. */
import { list } from "#api/schemas/list.ts";
import { RatelimitRequest, text } from "#api/schemas/schema.ts";

/** An identity by its id or its external id. */
export const IdentityRef = text({ min: 1 });

export const Ratelimits = list(RatelimitRequest, { max: 50 });
