/** Lists of an API server, which come in pages (https://kubernetes.io/docs/reference/using-api/api-concepts/). */
import type { z } from "zod";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { type Cluster, parseAnswer } from "./client.ts";

const pageSize = 500;
/** A list with more pages has cursors that repeat. */
const maxPages = 200;
/** Of all pages together. */
const maxListBytes = 268_435_456;

type Page<Item> = { metadata: { continue: string }; items: Item[] };

type ListQuery<Item> = {
  path: string;
  query: Record<string, string>;
  page: z.ZodType<Page<Item>>;
  signal: AbortSignal | undefined;
};

export async function listAll<Item>(
  cluster: Pick<Cluster, "call">,
  { path, query, page, signal }: ListQuery<Item>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = "";
  let bytes = 0;
  for (let n = 0; n < maxPages && bytes <= maxListBytes; n++) {
    const asked = {
      ...query,
      limit: String(pageSize),
      ...(cursor !== "" && { continue: cursor }),
    };
    const url = `${path}?${new URLSearchParams(asked)}`;
    const answer = await cluster.call({ method: "GET", path: url, signal });
    const { metadata, items: more } = parseAnswer(page, answer);
    items.push(...more);
    bytes += answer.bytes ?? 0;
    cursor = metadata.continue;
    if (cursor === "") return items;
  }
  throw new UnreachableError("unreachable: the API server's list has no end");
}
