/** The incident service's end of alert events: judges every request by its schema, answers by script. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Ajv } from "ajv";

/**
 * `hang` never answers, `reset` breaks the connection; `lost` takes the event and breaks it then.
 */
export type Answer =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | "accept"
  | "hang"
  | "reset"
  | "lost";

export type ReceivedEvent = {
  eventId: string;
  deduplicationKey: string;
  status: "firing" | "resolved";
  body: Record<string, unknown>;
  path: string;
  atMs: number;
  /** Whether it was said that it is accepted. */
  isAnswered: boolean;
};

export type AlertReceiver = {
  url: string;
  sourceId: string;
  /** The token that is taken now. */
  token: string;
  /** Accepted events, in the order of their arrival. */
  events: ReceivedEvent[];
  attemptsAtMs: number[];
  /** What was wrong with requests, if anything. */
  faults: string[];
  /** What the next requests are answered; once it is empty `accept`. */
  script: Answer[];
  /** Asked where there is no script. */
  behave: () => Answer;
  stop: () => Promise<void>;
};

const contract = new URL("../../contract/alert-events.openapi.json", import.meta.url);
const ajv = new Ajv({ allErrors: true, strict: false });
ajv.addSchema(JSON.parse(readFileSync(contract, "utf8")), "contract");
const isPayload = validator("AlertEventsCreateHTTPPayloadV2");
const isResult = validator("AlertEventsCreateHTTPResultV2");

function validator(schema: string) {
  const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
  if (validate === undefined) throw new Error(`the contract has no ${schema}`);
  return validate;
}

export async function startAlertReceiver(port = 0): Promise<AlertReceiver> {
  const server = createServer((incoming, outgoing) => {
    // A request that breaks off was none.
    serve(receiver, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const receiver: AlertReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sourceId: "01SOURCE",
    token: "secret-part-one",
    events: [],
    attemptsAtMs: [],
    faults: [],
    script: [],
    behave: () => "accept",
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

async function serve(receiver: AlertReceiver, incoming: IncomingMessage, outgoing: ServerResponse) {
  const text = await readText(incoming);
  receiver.attemptsAtMs.push(Date.now());
  const refusal = refuse(receiver, incoming, text);
  if (refusal !== undefined) {
    answer(outgoing, refusal);
    return;
  }
  const wish = receiver.script.shift() ?? receiver.behave();
  if (wish === "accept" || wish === "lost") {
    receiver.events.push({ ...readEvent(incoming, text), isAnswered: wish === "accept" });
  }
  answer(outgoing, wish === "accept" ? accepted(text) : wish);
}

/** What the service itself would refuse, whatever the script says. */
function refuse(receiver: AlertReceiver, { headers, method, url }: IncomingMessage, text: string) {
  const fault = (status: number, type: string, what: string) => {
    receiver.faults.push(what);
    return { status, body: { type, status, request_id: "req-1", errors: [{ code: type }] } };
  };
  const path = new RegExp(`^/v2/alert_events/(?:checkly|http|alertmanager)/${receiver.sourceId}$`);
  if (method !== "POST" || !path.test(url ?? ""))
    return fault(404, "not_found", `${method} ${url}`);
  if (headers.authorization !== `Bearer ${receiver.token}`) {
    return fault(401, "authentication_error", "wrong token");
  }
  if (headers["content-type"] !== "application/json") return fault(415, "media_type", "media type");
  if (url?.includes("/alertmanager/")) return undefined;
  if (isPayload(JSON.parse(text))) return undefined;
  return fault(422, "validation_error", ajv.errorsText(isPayload.errors));
}

function accepted(text: string) {
  const key = (JSON.parse(text) as { deduplication_key?: string }).deduplication_key ?? "";
  const message = "Event accepted for processing";
  const body = { status: "success", message, deduplication_key: key };
  if (!isResult(body)) throw new Error("the receiver breaks its own contract");
  return { status: 202, body };
}

function readEvent({ url = "" }: IncomingMessage, text: string): Omit<ReceivedEvent, "isAnswered"> {
  const body = JSON.parse(text) as Record<string, unknown>;
  const metadata = body["metadata"] as { event_id?: string } | undefined;
  const annotations = body["commonAnnotations"] as { event_id?: string } | undefined;
  return {
    eventId: metadata?.event_id ?? annotations?.event_id ?? "",
    deduplicationKey: String(body["deduplication_key"] ?? ""),
    status: body["status"] as "firing" | "resolved",
    body,
    path: url,
    atMs: Date.now(),
  };
}

function answer(outgoing: ServerResponse, reply: Exclude<Answer, "accept">): void {
  if (reply === "hang") return;
  if (typeof reply === "string") {
    outgoing.socket?.resetAndDestroy();
    return;
  }
  const headers = { "content-type": "application/json", ...reply.headers };
  outgoing.writeHead(reply.status, headers).end(JSON.stringify(reply.body ?? {}));
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
