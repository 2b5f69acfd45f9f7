/**
 * Spans of OpenTelemetry. Off until there is an exporter (`src/kernel/trace-exporter.ts`): until then nothing of it is loaded, no
 * trace is started, and so no span is made. A trace is the `traceparent` (W3C) of a span whose trace is sampled. Ids of
 * durable spans are derived, so that a repeated step makes the same span again.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { hash, randomUUID } from "node:crypto";

/** The `traceparent` of a sampled span; behind a space the `tracestate` of its caller, if there is one. */
export type Trace = string;

const parentLength = 55;
const longestState = 512;
export const longestTrace = parentLength + 1 + longestState;

/** A value that is undefined is left out. */
export type Attributes = Record<string, string | number | undefined>;

type SpanKind = "internal" | "server" | "client" | "producer";

/** A span that has ended. Times are Unix ms. `error`: its `error.type`; absent: it went well. */
export type Span = {
  trace: Trace;
  /** The span's parent; absent: it has none. */
  parent?: Trace | undefined;
  name: string;
  kind: SpanKind;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  error?: string | undefined;
};

export type Exporter = {
  /** Decides if a trace with this id is recorded; `parent`: the caller's span. */
  samples: (traceId: string, parent?: Trace) => boolean;
  /** Queues a span; dropped when too many wait. */
  add: (span: Span) => void;
  /** Sends at once what waits. */
  flush: () => void;
  /** True once they have arrived. Never throws. */
  deliver: (spans: readonly Span[]) => Promise<boolean>;
};

let exporter: Exporter | undefined;

/** True if the standard variables name a receiver of traces. */
export function isTracingWanted(environment: NodeJS.ProcessEnv): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = "", OTEL_SDK_DISABLED: isDisabled } = environment;
  return endpoint !== "" && isDisabled !== "true" && environment["OTEL_TRACES_EXPORTER"] !== "none";
}

/** Sends spans to this exporter from now on; undefined: traces are off. */
export function setExporter(given: Exporter | undefined): void {
  exporter = given;
}

export function isTracing(): boolean {
  return exporter !== undefined;
}

/** Adds a span that may be lost with this process: one that no other span has as its parent. */
export function addSpan(span: Span): void {
  exporter?.add(span);
}

/** Sends at once what waits, so that a kill loses less of it. */
export function flushSpans(): void {
  exporter?.flush();
}

/** Delivers spans that others have as their parents. False: try again. True without an exporter: there is nowhere to. */
export async function deliverSpans(spans: readonly Span[]): Promise<boolean> {
  return exporter === undefined || (await exporter.deliver(spans));
}

type Message = Pick<Span, "trace" | "parent" | "attributes"> & {
  destination: string;
  id: string;
  atMs: number;
};

/** Returns the span of a message that was sent at this time (Unix ms), by the conventions for messaging. */
export function toMessageSpan({ destination, id, atMs, attributes, ...of }: Message): Span {
  return {
    ...of,
    ...{ name: `send ${destination}`, kind: "producer", startMs: atMs, endMs: atMs },
    attributes: {
      "messaging.system": "vedette",
      "messaging.operation.type": "send",
      "messaging.operation.name": "send",
      "messaging.destination.name": destination,
      "messaging.message.id": id,
      ...attributes,
    },
  };
}

const traceparent = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** A key with its value, or nothing: some may be missing. */
const member =
  /^[\t ]*(?:(?:[a-z][a-z\d_*/-]{0,255}|[a-z\d][a-z\d_*/-]{0,240}@[a-z][a-z\d_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~][\t ]*)?$/;
const mostMembers = 32;

/** By members: a pattern of them all would try every way to share the spaces between two commas. */
function isState(text: string): boolean {
  const members = text.length <= longestState ? text.split(",") : [];
  return (
    members.length > 0 && members.length <= mostMembers && members.every((one) => member.test(one))
  );
}

type Headers = Readonly<Record<string, unknown>>;

/** The trace of headers; undefined: they have none, or not a valid one. A state that is not valid is left out. */
export function readTrace({ traceparent: parent, tracestate }: Headers): Trace | undefined {
  if (typeof parent !== "string" || !traceparent.test(parent)) return undefined;
  if (typeof tracestate !== "string" || tracestate === "") return parent;
  return isState(tracestate) ? `${parent} ${tracestate}` : parent;
}

/** The headers by which another system continues a trace. */
export function headersOf(trace: Trace): { traceparent: string; tracestate?: string } {
  const traceparent = trace.slice(0, parentLength);
  const tracestate = trace.slice(parentLength + 1);
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

/** Starts a trace, or continues that of a caller's headers; undefined: traces are off, or this one is not sampled. */
export function startTrace(headers: Headers): { trace: Trace; parent?: Trace } | undefined {
  if (exporter === undefined) return undefined;
  const parent = readTrace(headers);
  const traceId = parent?.slice(3, 35) ?? randomUUID().replaceAll("-", "");
  if (!exporter.samples(traceId, parent)) return undefined;
  if (parent === undefined) return { trace: `00-${traceId}-${newId()}-01` };
  return { trace: newChild(parent), parent };
}

/** The trace of what has these names: the same in every process that records it; undefined: as of `startTrace`. */
export function seedTrace(...names: (string | number)[]): Trace | undefined {
  if (exporter === undefined) return undefined;
  const digest = hash("sha256", names.join(" "));
  const traceId = digest.slice(0, 32);
  return exporter.samples(traceId) ? `00-${traceId}-${digest.slice(32, 48)}-01` : undefined;
}

/** The child of a span, by names that are the same whenever it is made again. */
export function childOf(parent: Trace, ...names: (string | number)[]): Trace {
  return withId(parent, hash("sha256", [parent, ...names].join(" ")).slice(0, 16));
}

/** The same for one of many, which saves the hash. `number`: less than 2³². */
export function memberOf(parent: Trace, number: number): Trace {
  return withId(parent, `${parent.slice(36, 44)}${number.toString(16).padStart(8, "0")}`);
}

function newChild(parent: Trace): Trace {
  return withId(parent, newId());
}

function withId(parent: Trace, id: string): Trace {
  return `${parent.slice(0, 36)}${id}-01${parent.slice(parentLength)}`;
}

const ownPart = randomUUID().slice(0, 8);
let lastId = Number.parseInt(randomUUID().slice(0, 8), 16);

/** One part is random for this process or thread, the other one counts: a random id of each span would cost ten times as much. */
function newId(): string {
  lastId = (lastId + 1) >>> 0;
  return `${ownPart}${lastId.toString(16).padStart(8, "0")}`;
}

/** `isOver`: the work has ended, and what it left in the background is no part of it. */
type Scope = { trace: Trace; isOver: boolean; requests: number };

const scopes = new AsyncLocalStorage<Scope>();

/** Does the work as a part of this span: its requests are children, its log lines have the ids. undefined: without. */
export function inTrace<Result>(
  trace: Trace | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (trace === undefined) return work();
  const { run, end } = openScope(trace);
  return run(work).finally(end);
}

/** The same for work by callbacks: it is over with `end`. */
export function openScope(trace: Trace) {
  const scope: Scope = { trace, isOver: false, requests: 0 };
  return {
    run: <Result>(work: () => Result): Result => scopes.run(scope, work),
    end: () => {
      scope.isOver = true;
    },
  };
}

function currentScope(): Scope | undefined {
  const scope = scopes.getStore();
  return scope?.isOver === true ? undefined : scope;
}

/** The fields of a log line that is written within a trace, or about the work of this one. */
export function traceFields(trace = currentScope()?.trace) {
  return trace === undefined ? {} : { trace_id: trace.slice(3, 35), span_id: trace.slice(36, 52) };
}

/** Unix ms with a fraction. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** A call to another system; one that has made HTTP requests is seen by those. */
export async function traceCall<Result>(
  call: { name: string; attributes: Attributes },
  work: () => Promise<Result>,
): Promise<Result> {
  const scope = currentScope();
  if (scope === undefined) return work();
  const { requests } = scope;
  const startMs = nowMs();
  let error: string | undefined;
  try {
    return await work();
  } catch (thrown) {
    error = typeOf(thrown);
    throw thrown;
  } finally {
    const trace = newChild(scope.trace);
    if (scope.requests === requests) addChild(scope.trace, { ...call, startMs, error, trace });
  }
}

type Answer = { statusCode: number };

/** A request within a trace: `send` gets the header for the other side. Neither path nor query is recorded, which may hold secrets. */
export async function traceRequest<Result extends Answer>(
  { address, method = "GET" }: { address: string | URL; method?: string | undefined },
  send: (headers: Partial<ReturnType<typeof headersOf>>) => Promise<Result>,
): Promise<Result> {
  const scope = currentScope();
  if (scope === undefined) return send({});
  scope.requests++;
  const startMs = nowMs();
  const trace = newChild(scope.trace);
  let status: number | undefined;
  let error: string | undefined;
  try {
    const answer = await send(headersOf(trace));
    status = answer.statusCode;
    if (status >= 400) error = String(status);
    return answer;
  } catch (thrown) {
    error = typeOf(thrown);
    throw thrown;
  } finally {
    const attributes = { ...attributesOf(address, method), "http.response.status_code": status };
    addChild(scope.trace, { name: method, attributes, startMs, error, trace });
  }
}

function addChild(
  parent: Trace,
  span: Pick<Span, "trace" | "name" | "attributes" | "startMs" | "error">,
): void {
  addSpan({ ...span, parent, kind: "client", endMs: nowMs() });
}

function attributesOf(address: string | URL, method: string): Attributes {
  const [origin = ""] = /^\w+:\/\/[^/?#\\]*/.exec(String(address)) ?? [];
  return { "http.request.method": method, ...serverOf(origin) };
}

const mostServers = 100;
const servers = new Map<string, Attributes>();

/** Returns what a span has of the server at an address without a path. Kept: a fleet of thousands is at one. */
function serverOf(origin: string): Attributes {
  const known = servers.get(origin);
  if (known !== undefined) return known;
  const { protocol, hostname, port, host } = new URL(origin);
  const server = {
    "server.address": hostname,
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    "url.full": `${protocol}//${host}/REDACTED`,
  };
  if (servers.size >= mostServers) servers.clear();
  servers.set(origin, server);
  return server;
}

/** The code of an error, or its class: never its words. */
function typeOf(thrown: unknown): string {
  const { code, name } = (thrown ?? {}) as { code?: unknown; name?: string };
  return typeof code === "string" ? code : (name ?? "_OTHER");
}
