/** Lists what refers to an image (OCI distribution specification, "Listing Referrers"). */
import { z } from "zod";
import { listOf } from "#kernel/list-of.ts";
import { Digest, parseObject, type Wanted } from "./content.ts";
import type { Answer } from "./exchange.ts";
import { judge, manifestTypes } from "./manifest.ts";

const Referrers = z.object({
  manifests: listOf(
    z.object({
      digest: z.string(),
      artifactType: z.string().default(""),
    }),
    100_000,
  ),
});
export type Referrer = z.infer<typeof Referrers>["manifests"][number];

const indexType = "application/vnd.oci.image.index.v1+json";

/** A registry decides how long its pages are. */
const mostPages = 10;

/**
 * The referrers of a digest. A registry that does not know the question has an index of them under a tag, which those
 * who push them keep ("Referrers Tag Schema").
 */
export async function findReferrers(wanted: Wanted, digest: string): Promise<Referrer[]> {
  const found: Referrer[] = [];
  let path: string | undefined = `referrers/${digest}`;
  for (let page = 0; path !== undefined && page < mostPages; page += 1) {
    const answer = await wanted.exchange({ method: "GET", path, accept: indexType });
    const referrers = answer.status === 200 ? referrersIn(answer) : undefined;
    if (referrers === undefined && page === 0 && isUnknown(answer, wanted.image.host)) {
      return fromTag(wanted, digest);
    }
    judge(answer, wanted.image);
    found.push(...(referrers ?? []));
    path = nextPage(answer, digest);
  }
  return found;
}

/**
 * Registries without referrers answer 404, others with an error of theirs or a page for browsers; some send us to a
 * page on another host, whatever that answers.
 */
function isUnknown({ status, address }: Answer, asked: string): boolean {
  return address.host !== asked || [200, 400, 404, 405, 406, 410, 422, 501].includes(status);
}

async function fromTag({ exchange, image }: Wanted, digest: string): Promise<Referrer[]> {
  const path = `manifests/${digest.replace(":", "-")}`;
  const answer = await exchange({ method: "GET", path, accept: manifestTypes });
  if (answer.status === 404) return [];
  judge(answer, image);
  return referrersIn(answer) ?? [];
}

function referrersIn({ body }: Answer): Referrer[] | undefined {
  const { data: index } = Referrers.safeParse(parseObject(body));
  return index?.manifests.filter(({ digest }) => Digest.safeParse(digest).success);
}

/** What the next page's link adds to our own address: a registry does not send us to others (RFC 8288). */
function nextPage({ header }: Answer, digest: string): string | undefined {
  const [, target] = /<([^<>]*)>\s*;[^,<]*\brel="?next"?/.exec(header("link") ?? "") ?? [];
  if (target === undefined) return undefined;
  const query = target.includes("?") ? target.slice(target.indexOf("?")) : "";
  return query === "" ? undefined : `referrers/${digest}${query}`;
}
