/** The incident service as senders of alerts see it: sources with tokens, routes, people who are paged. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AlertRoute, AlertSource, Condition } from "#routing/contract.ts";

type Labels = Record<string, string>;

/** An alert as a source told of it. */
export type ToldAlert = { source: string; status: "firing" | "resolved"; labels: Labels };

/** What the routes made of an alert that fired. */
type Outcome = { route: string; paged: string | null; channel: string; labels: Labels };

type Setup = {
  sources: readonly AlertSource[];
  routes?: readonly AlertRoute[];
  /** Who is on call, by escalation path. */
  onCall?: Record<string, string>;
};

type Refusal = { status: number; headers?: Record<string, string> };

export const apiKey = "api-key-of-the-test";

export async function startFakeIncidentSources(setup: Setup) {
  const tokens = new Map(setup.sources.map(({ name }) => [name, `token-1-of-${name}`]));
  const alerts: ToldAlert[] = [];
  const outcomes: Outcome[] = [];
  const refusals: Refusal[] = [];
  const requests: string[] = [];

  const showSource = (source: AlertSource) => ({
    id: idOf(source),
    name: source.title,
    source_type: source.kind,
    secret_token: tokens.get(source.name),
    template: { attributes: [], expressions: [] },
  });

  const take = (source: AlertSource, body: unknown) => {
    for (const alert of alertsIn(body)) {
      alerts.push({ source: source.name, ...alert });
      if (alert.status === "firing") outcomes.push(...route(source, alert.labels, setup));
    }
  };

  const manage = (path: string, response: ServerResponse) => {
    if (path === "/v2/alert_sources") {
      return answer(response, 200, { alert_sources: setup.sources.map(showSource) });
    }
    const source = setup.sources.find((row) => path === `/v2/alert_sources/${idOf(row)}`);
    if (source === undefined) return answer(response, 404, problem("not_found"));
    return answer(response, 200, { alert_source: showSource(source) });
  };

  const receive = async (path: string, request: IncomingMessage, response: ServerResponse) => {
    const source = setup.sources.find(
      (row) => path === `/v2/alert_events/${row.kind}/${idOf(row)}`,
    );
    if (source === undefined) return answer(response, 404, problem("not_found"));
    if (request.headers.authorization !== `Bearer ${tokens.get(source.name)}`) {
      return answer(response, 401, problem("authentication_error"));
    }
    take(source, JSON.parse(await textOf(request)));
    return answer(response, 202, { status: "success", message: "Event accepted for processing" });
  };

  const server = createServer(async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    requests.push(`${method} ${path}`);
    const refusal = refusals.shift();
    if (refusal !== undefined) {
      return answer(response, refusal.status, problem("refused"), refusal.headers);
    }
    if (method === "POST") return receive(path, request, response);
    if (headers.authorization !== `Bearer ${apiKey}`) {
      return answer(response, 401, problem("authentication_error"));
    }
    return manage(path, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    alerts,
    outcomes,
    requests,
    /** The next requests are answered so, one each. */
    refuse: (...next: Refusal[]) => void refusals.push(...next),
    tokenOf: (source: string) => tokens.get(source) ?? "",
    /** As someone does on the service's own pages. */
    setToken: (source: string, token: string) => void tokens.set(source, token),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function idOf({ name }: Pick<AlertSource, "name">): string {
  return `01-${name}`;
}

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function problem(type: string): object {
  return { type, request_id: "request-7", errors: [{ code: type, message: type }] };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

/** Of Alertmanager's message, version 4, or of the one event of any other source. */
function alertsIn(body: unknown): Omit<ToldAlert, "source">[] {
  const { alerts, status } = body as {
    alerts?: Omit<ToldAlert, "source">[];
    status: ToldAlert["status"];
  };
  return alerts?.map(({ status, labels }) => ({ status, labels })) ?? [{ status, labels: {} }];
}

/** Every route that takes the alert acts; told apart on purpose from how the program decides it. */
function route(source: AlertSource, labels: Labels, { routes = [], onCall = {} }: Setup) {
  const takers = routes.filter(({ sources }) =>
    sources
      .filter((entry) => entry.source === source.name)
      .some(({ conditions }) => conditions.every((condition) => isMet(condition, labels))),
  );
  return takers.map(({ name, escalation, channel }): Outcome => {
    const paged = escalation === null ? null : (onCall[escalation] ?? "nobody is on call");
    return { route: name, paged, channel, labels };
  });
}

function isMet(condition: Condition, labels: Labels): boolean {
  const value = labels[condition.label];
  if (condition.operation === "is_set") return value !== undefined;
  if (condition.operation === "is_not_set") return value === undefined;
  const isNamed = value !== undefined && condition.values.includes(value);
  return condition.operation === "one_of" ? isNamed : !isNamed;
}
