/** The calls of a sync to the incident service, without retries. */
import { z } from "zod";
import { isShallow } from "#kernel/documents.ts";
import { listOf } from "#kernel/setting.ts";
import { isClean } from "#kernel/text.ts";
import { Content } from "#routing/incident/contract.ts";
import { toContent } from "./content.ts";
import type { Attempt } from "./steps.ts";
import { callOnce, type Reply, type Send } from "./transport.ts";

/** A route as it is now. */
export type FoundRoute = {
  id: string;
  version: number;
  content: Content;
  /** The route as read, for backups. */
  detail: Content;
};

export type NamedId = { id: string; name: string };

export type Reader = ReturnType<typeof createReader>;
export type Service = ReturnType<typeof createService>;

const pageSize = 25;

/** No service has so many pages: a longer list is an error of the service. */
const maxPages = 400;

/** Per page: a service without paging returns all items at once. */
const maxItems = 100_000;

/** Limit of all pages together: Restate would restart a longer step again and again. */
const listTimeoutMs = 45_000;

export function createReader(send: Send) {
  const get = (path: string) => callOnce(send, { method: "GET", path });
  return {
    /** null: there is none. */
    readRoute: async (id: string): Promise<Attempt<FoundRoute | null>> => {
      const reply = await get(`/v2/alert_routes/${encodeURIComponent(id)}`);
      if (reply.kind === "absent") return { kind: "done", value: null };
      const route = readAs(reply, (body) => toFound(RouteAnswer.parse(body).alert_route));
      // Otherwise another route's content would be taken for this one's and overwritten.
      if (route.kind !== "done" || route.value.id === id) return route;
      const reason = `asked for route ${id}, the incident service returned another one`;
      return { kind: "failed", reason };
    },
    /** All pages. Without versions: those in a list are stale. */
    listRoutes: () => readPages(get, "/v2/alert_routes", RoutesAnswer),
    listEscalationPaths: () => readPages(get, "/v2/escalation_paths", PathsAnswer),
    listSources: async () => readAs(await get("/v2/alert_sources"), SourcesAnswer.parse),
    listAttributes: async () => readAs(await get("/v2/alert_attributes"), AttributesAnswer.parse),
  };
}

export function createService(send: Send) {
  return {
    ...createReader(send),
    createRoute: (content: Content) =>
      callOnce(send, { method: "POST", path: "/v2/alert_routes", body: content }),
    /** `version` is the one that was read: the service refuses the update when it is not the latest. */
    updateRoute: ({ id, version }: Pick<FoundRoute, "id" | "version">, content: Content) =>
      callOnce(send, { ...routeAt("PUT", id), body: { ...content, version: version + 1 } }),
    deleteRoute: (id: string) => callOnce(send, routeAt("DELETE", id)),
  };
}

function routeAt<M extends "PUT" | "DELETE">(method: M, id: string) {
  return { method, path: `/v2/alert_routes/${encodeURIComponent(id)}` };
}

/** The route in the answer to a write; undefined: the answer has none. */
export function readWritten(body: unknown): FoundRoute | undefined {
  const { data } = RouteAnswer.safeParse(body);
  return data === undefined ? undefined : toFound(data.alert_route);
}

/** A deep one takes seconds to compare: each of its lists is sorted by its whole text. */
const RouteAnswer = z.object({ alert_route: Content.refine((route) => isShallow(route)) });
/** Part of a path: `.` and `..` would lead to another one. People are told it, in chat and mails too. */
const Id = z
  .string()
  .regex(/^(?!\.{1,2}$)[^/\\]+$/)
  .refine((id) => isClean(id, 100));
const RouteHead = z.object({ id: Id, version: z.coerce.number().int() });

function toFound(detail: Content): FoundRoute {
  return { ...RouteHead.parse(detail), content: toContent(detail), detail };
}

const ListedItem = z.object({ id: Id, name: z.string() });
const Meta = z.object({ after: z.string().nullish() }).nullish();

const RoutesAnswer = z
  .object({ alert_routes: listOf(ListedItem, maxItems), pagination_meta: Meta })
  .transform(({ alert_routes: items, pagination_meta: meta }) => ({ items, after: meta?.after }));

const PathsAnswer = z
  .object({ escalation_paths: listOf(ListedItem, maxItems), pagination_meta: Meta })
  .transform(({ escalation_paths: items, pagination_meta: meta }) => ({
    items,
    after: meta?.after,
  }));

const SourcesAnswer = z
  .object({ alert_sources: listOf(ListedItem, maxItems) })
  .transform(({ alert_sources }) => alert_sources);

const AttributesAnswer = z
  .object({ alert_attributes: listOf(ListedItem.extend({ type: z.string().catch("") }), maxItems) })
  .transform(({ alert_attributes }) => alert_attributes);

type Page = z.ZodType<{ items: NamedId[]; after?: string | null | undefined }>;

async function readPages(
  get: (path: string) => Promise<Reply>,
  path: string,
  schema: Page,
): Promise<Attempt<NamedId[]>> {
  const items = new Map<string, NamedId>();
  const cursors = new Set<string>();
  const deadlineMs = performance.now() + listTimeoutMs;
  let after = "";
  for (let page = 0; page < maxPages; page += 1) {
    if (performance.now() > deadlineMs) break;
    const attempt = readAs(await get(`${path}?page_size=${pageSize}${after}`), schema.parse);
    if (attempt.kind !== "done") return attempt;
    // A route that moved to a later page meanwhile is in both pages, and counts once.
    for (const item of attempt.value.items) items.set(item.id, item);
    const next = attempt.value.after ?? "";
    if (next === "") return { kind: "done", value: [...items.values()] };
    // A cursor that repeats would make the list endless.
    if (cursors.has(next)) break;
    cursors.add(next);
    after = `&after=${encodeURIComponent(next)}`;
  }
  return { kind: "failed", reason: `the list ${path} does not end` };
}

/** The result of a GET; a lost one is `later`, since a GET can be repeated. */
function readAs<T>(reply: Reply, read: (body: unknown) => T): Attempt<T> {
  switch (reply.kind) {
    case "later":
      return reply;
    case "lost":
      return { kind: "later", reason: reply.reason };
    case "absent":
    case "refused":
      return { kind: "failed", reason: reply.reason };
    case "done":
      try {
        return { kind: "done", value: read(reply.body) };
      } catch {
        const reason = "unexpected answer from the incident service: is incident.url its address?";
        return { kind: "failed", reason };
      }
  }
}
