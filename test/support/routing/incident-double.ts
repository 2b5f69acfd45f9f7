/**
 * The incident service's routes, in memory: every request and every answer is held against its
 * schemas. Its lists tell stale versions, its answers say more than they were told, and others edit.
 */
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import type { Content, Json } from "#routing/incident/contract.ts";
import type { Answer, Call } from "#routing/incident/transport.ts";
import { createListedRoutes, type Lag } from "./stale-list.ts";

/** `lost`: no answer; `…_after`: once the request was carried out. */
export type Fault =
  | "wait_seconds"
  | "wait_date"
  | "busy"
  | "lost_before"
  | "lost_after"
  | "error_before"
  | "error_after";

type Stored = { id: string; version: number; content: Content; isOurs: boolean };

export type IncidentDouble = ReturnType<typeof createIncidentDouble>;

export type DoubleOptions = {
  /** What a write for an old version is answered with. */
  conflictStatus?: 409 | 412 | 422;
  sources?: readonly { id: string; name: string }[];
};

/** By the type of an attribute: what the service reads operations back as, so its own Terraform provider. */
const realReadBack: ReadBack = {
  String: { one_of: "contains_one_of" },
  Link: { one_of: "contains_one_of" },
  TemplatedText: { one_of: "contains_one_of" },
  CatalogEntry: { contains: "name_contains" },
};

type ReadBack = Readonly<Record<string, Readonly<Record<string, string>>>>;

const contract = new URL("../../contract/alert-routes.openapi.json", import.meta.url);
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });
ajv.addSchema(JSON.parse(readFileSync(contract, "utf8")), "routes");

export function createIncidentDouble(options: DoubleOptions = {}) {
  const { conflictStatus = 409, sources = [] } = options;
  const lag: Lag = { lagMs: 0, now: Date.now };
  const routes = createListedRoutes<Stored>(lag);
  let lastId = 0;
  const double = {
    routes,
    /** How far the list of routes is behind; single routes never are. */
    lag,
    /** Writes that were carried out, in order. */
    writes: [] as string[],
    /** What was wrong with requests, or with this double. */
    faults: [] as string[],
    /** Called before each request: someone else may edit then; a fault decides what it comes to. */
    behave: (_call: Call): Fault | undefined => undefined,
    /** Called before a write of ours is carried out. */
    onWrite: (_call: Call, _stored: Stored | undefined): void => {},
    escalationPaths: [{ id: "01PATH", name: "Engineering On-Call" }],
    attributes: ["severity", "branch", "team"].map((name) => ({
      id: `01ATTR${name}`,
      name,
      type: "String",
    })),
    readBack: realReadBack,
    /** What it adds to a condition that it reads back, such as empty parameters. */
    padCondition: (condition: Content): Content => condition,

    /** As somebody does who works at the service itself. */
    add(content: Content, isOurs = false): Stored {
      lastId += 1;
      const stored = { id: `01ROUTE${lastId}`, version: 1, content, isOurs };
      routes.set(stored.id, stored);
      return stored;
    },
    edit(id: string, change: (content: Content) => Content): void {
      const stored = routes.get(id);
      if (stored === undefined) return;
      stored.content = change(structuredClone(stored.content));
      stored.version += 1;
      routes.noteChange();
    },

    /** A transport. Throws where a request gets no answer. */
    async send(call: Call): Promise<Answer> {
      const fault = double.behave(call);
      const refusal = fault === undefined ? undefined : refuse(fault, call);
      if (refusal === "none") throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      if (refusal !== undefined) return refusal;
      const answer = serve(call);
      if (fault === "lost_after") throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      return fault === "error_after" ? problem(502, "bad gateway") : answer;
    },
  };

  const serve = (call: Call): Answer => {
    const { pathname, searchParams } = new URL(call.path, "http://double");
    const id = /^\/v2\/alert_routes\/([^/]+)$/.exec(pathname)?.[1];
    if (id !== undefined) return serveRoute(call, decodeURIComponent(id));
    if (call.method === "POST" && pathname === "/v2/alert_routes") return create(call);
    const read = call.method === "GET" ? lists[pathname] : undefined;
    return read === undefined ? stray(call) : read(searchParams);
  };

  const lists: Record<string, (search: URLSearchParams) => Answer> = {
    "/v2/alert_routes": (search) => list(search),
    "/v2/alert_sources": () =>
      checked("AlertSourcesListResultV2", 200, { alert_sources: sources.map(aSource) }),
    "/v2/alert_attributes": () =>
      checked("AlertAttributesListResultV2", 200, {
        alert_attributes: double.attributes.map((item) => ({
          ...item,
          array: false,
          required: false,
        })),
      }),
    "/v2/escalation_paths": () =>
      checked("EscalationsListPathsResultV2", 200, {
        escalation_paths: double.escalationPaths.map((item) => ({
          ...item,
          path: [],
          team_ids: [],
        })),
        pagination_meta: { page_size: 25 },
      }),
  };

  const serveRoute = (call: Call, id: string): Answer => {
    const stored = routes.get(id);
    if (stored === undefined) return problem(404, "not found");
    if (call.method === "GET") return show("AlertRoutesShowResultV2", 200, stored);
    if (call.method === "PUT") return update(call, stored);
    if (call.method !== "DELETE") return stray(call);
    double.onWrite(call, stored);
    routes.delete(id);
    double.writes.push(`DELETE ${stored.content["name"]}`);
    return { status: 204, retryAfter: undefined, body: undefined };
  };

  const update = (call: Call, stored: Stored): Answer => {
    const body = call.body as Content;
    check("AlertRoutesUpdatePayloadV2", body);
    if (body["version"] !== stored.version + 1) {
      return problem(conflictStatus, `version: must be ${stored.version + 1}`);
    }
    double.onWrite(call, stored);
    const { version: _version, ...content } = body;
    stored.content = content;
    stored.version += 1;
    routes.noteChange();
    double.writes.push(`PUT ${stored.content["name"]}`);
    return show("AlertRoutesUpdateResultV2", 200, stored);
  };

  const create = (call: Call): Answer => {
    const body = call.body as Content;
    check("AlertRoutesCreatePayloadV2", body);
    if ("version" in body) double.faults.push("a new route with a version");
    double.onWrite(call, undefined);
    double.writes.push(`POST ${body["name"]}`);
    return show("AlertRoutesCreateResultV2", 201, double.add(body, true));
  };

  const list = (search: URLSearchParams): Answer => {
    if (search.get("page_size") !== "25") double.faults.push("a list without page_size=25");
    const all = routes.listed();
    const from = all.findIndex(({ id }) => id === search.get("after")) + 1;
    const page = all.slice(from, from + 25);
    const isLast = from + page.length >= all.length;
    const meta = { page_size: 25, ...(!isLast && { after: page.at(-1)?.id }) };
    return checked("AlertRoutesListResultV2", 200, {
      // Versions of a list are stale.
      alert_routes: page.map((shown) => ({ ...shown, version: 1 })),
      pagination_meta: meta,
    });
  };

  const show = (schema: string, status: number, { id, version, content }: Stored): Answer => {
    const shown = toShown(content, showCondition);
    return checked(schema, status, { alert_route: { id, version, ...shown } });
  };

  /** The operation under the name that the service has for it on the subject's type. */
  const showCondition = (condition: Content): Content => {
    const { subject, operation } = condition;
    const attribute = double.attributes.find(({ id }) => subject === `alert.attributes.${id}`);
    const renamed = double.readBack[attribute?.type.split("[")[0] ?? ""] ?? {};
    const value = renamed[String(operation)] ?? operation ?? null;
    return double.padCondition({
      ...condition,
      subject: { label: `Alert → ${subject}`, reference: subject ?? null },
      operation: { label: String(operation), value },
      param_bindings: withLabels(condition["param_bindings"] ?? [], showCondition),
    });
  };

  const stray = ({ method, path }: Call): Answer => {
    double.faults.push(`${method} ${path}`);
    return problem(404, "not found");
  };

  const check = (schema: string, body: unknown) => {
    const validate = ajv.getSchema(`routes#/components/schemas/${schema}`);
    if (validate === undefined) throw new Error(`the contract has no ${schema}`);
    if (!validate(body)) double.faults.push(`${schema}: ${ajv.errorsText(validate.errors)}`);
  };

  const checked = (schema: string, status: number, body: unknown): Answer => {
    check(schema, body);
    return { status, retryAfter: undefined, body: structuredClone(body) };
  };

  return double;
}

function aSource({ id, name }: { id: string; name: string }) {
  const text = { label: name, literal: name };
  const template = {
    expressions: [],
    title: text,
    description: text,
    attributes: [],
    is_private: false,
  };
  return { id, name, source_type: "http", secret_token: "s3cret-of-a-source", template };
}

/** undefined: the request is carried out; `none`: there is no answer. */
function refuse(fault: Fault, { method }: Call): Answer | "none" | undefined {
  switch (fault) {
    case "wait_seconds":
      return { ...problem(429, "too many requests"), retryAfter: "2" };
    case "wait_date":
      return {
        ...problem(429, "too many requests"),
        retryAfter: new Date(Date.now() + 2_000).toUTCString(),
      };
    case "busy":
      return method === "GET" ? undefined : problem(409, "another change is being committed");
    case "lost_before":
      return "none";
    case "error_before":
      return problem(503, "unavailable");
    case "lost_after":
    case "error_after":
      return undefined;
  }
}

function problem(status: number, message: string): Answer {
  const errors = [{ code: "refused", message }];
  return {
    status,
    retryAfter: undefined,
    body: { type: "refused", status, request_id: "req-1", errors },
  };
}

/** Told with labels and presets, in another order, and with an echo: it means the same. */
function toShown(content: Content, showCondition: ShowCondition): Content {
  const { escalation_config: escalation, incident_config: incident } = content;
  const template = content["incident_template"] as Content;
  const shown = {
    ...content,
    owning_team_ids: content["owning_team_ids"] ?? [],
    incident_template: Object.fromEntries(
      Object.entries(template).map(([name, value]) =>
        name === "name" || name === "summary"
          ? [name, { autogenerated: false, ...(value as Content) }]
          : [name, value],
      ),
    ),
    incident_config: {
      ...(incident as Content),
      auto_relate_grouped_alerts: (incident as Content)["auto_relate_grouped_alerts"] ?? false,
    },
    alert_sources: [...(content["alert_sources"] as Json[])].reverse(),
    escalation_config: {
      ...(escalation as Content),
      escalation_targets: ((escalation as Content)["escalation_targets"] as Content[]).map(
        echoPath,
      ),
    },
  };
  return withLabels(shown, showCondition) as Content;
}

type ShowCondition = (condition: Content) => Content;

function echoPath(target: Content): Content {
  const { escalation_paths: paths, users } = target;
  const isBare = users === undefined || JSON.stringify(users) === '{"array_value":[]}';
  return paths !== undefined && isBare ? { ...target, users: structuredClone(paths) } : target;
}

function withLabels(value: Json, showCondition: ShowCondition, name = ""): Json {
  if (Array.isArray(value)) return value.map((element) => withLabels(element, showCondition, name));
  if (typeof value !== "object" || value === null) return value;
  if (typeof value["subject"] === "string") return showCondition(value);
  const told = Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, withLabels(child, showCondition, key)]),
  );
  const isBinding = name === "value" || name === "array_value";
  return isBinding ? { label: `${told["literal"] ?? told["reference"]}`, ...told } : told;
}
