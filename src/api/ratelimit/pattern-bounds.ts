/** Limits the patterns of a namespace, as each is tried on each identifier. */
import type { ClientBase } from "pg";
import { invalidInput } from "#api/error.ts";

const maxStars = 10;
const maxPatterns = 1_000;

/** Throws the 400 for one pattern too many. An existing one may always be changed. */
export async function refuseExcessPattern(
  transaction: ClientBase,
  namespaceId: string,
  identifier: string,
): Promise<void> {
  const stars = identifier.split("*").length - 1;
  if (stars === 0) return;
  const { rows } = await transaction.query<{ others: number; isThere: boolean }>(
    `SELECT count(*) FILTER (WHERE identifier LIKE '%*%')::int AS others,
       coalesce(bool_or(identifier = $2), false) AS "isThere"
     FROM ratelimit_overrides WHERE namespace_id = $1`,
    [namespaceId, identifier],
  );
  const { others, isThere } = rows[0] as { others: number; isThere: boolean };
  if (isThere) return;
  if (stars > maxStars) throw invalidInput(`A pattern may have at most ${maxStars} \`*\`.`);
  if (others < maxPatterns) return;
  throw invalidInput(
    `A namespace may have at most ${maxPatterns} overrides with \`*\`. Please delete some that are not needed any more.`,
  );
}
