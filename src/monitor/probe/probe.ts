/** Makes one request on a new connection, as an external client would, and times its phases. */
import { readBody } from "#kernel/body.ts";
import { codingsOf, decodeBody } from "#kernel/content-coding.ts";
import { Client, type Dispatcher, userAgent } from "#kernel/http.ts";
import type { Response } from "#monitor/kinds/assertions.ts";
import { createConnector } from "#monitor/kinds/connection.ts";
import { type Attempt, observe, ProbeFault } from "#monitor/kinds/observe.ts";
import {
  type ProbeLimits,
  type ProbeRequest,
  type Requester,
  withDefault,
} from "#monitor/kinds/request.ts";

/** `ca`: certificates to trust besides those of the system (PEM). */
export function createProbe(options: { ca?: string } = {}): Requester {
  return (request, limits) =>
    observe(limits, (of) => attempt({ request, limits, ...of, ...options }));
}

type Asked = Attempt & { request: ProbeRequest; limits: ProbeLimits; ca?: string };

async function attempt(of: Asked): Promise<Response> {
  const { request } = of;
  const { origin, pathname, search } = new URL(request.url);
  const client = new Client(origin, {
    connect: createConnector(of),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    return await exchange(client, `${pathname}${search}`, of);
  } finally {
    client.destroy().catch(() => {});
  }
}

async function exchange(
  client: Client,
  path: string,
  { request, limits, timing, signal }: Asked,
): Promise<Response> {
  const { method, body } = request;
  const headers = withDefault(request.headers, { name: "user-agent", value: userAgent });
  const answer = await client.request({ path, method, headers, body, signal });
  const { connectedAtMs } = timing;
  if (connectedAtMs === undefined) throw new Error("an answer without a connection");
  const headersAtMs = performance.now();
  timing.phases.firstByte = headersAtMs - connectedAtMs;
  const text = await readText(answer, limits.maxBodyBytes);
  timing.phases.transfer = performance.now() - headersAtMs;
  return { kind: "response", status: answer.statusCode, headers: flat(answer.headers), body: text };
}

/** The limit is that of the text, whatever is sent of it: servers may compress what nobody asked them to. */
async function readText(
  { body, headers }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<string> {
  const codings = codingsOf(headers["content-encoding"]);
  const whole = await readBody(decodeBody(body, { codings, maxBytes }), maxBytes);
  if (whole === undefined) throw new ProbeFault(`the answer is longer than ${maxBytes} bytes`);
  return decodeText(whole, [headers["content-type"]].flat().join());
}

/** Without a byte order mark, which says more than the header; as UTF-8, if neither says what it is. */
function decodeText(bytes: Buffer, contentType: string): string {
  const mark = [bytes[0], bytes[1]].join();
  const marked = { "255,254": "utf-16le", "254,255": "utf-16be", "239,187": "utf-8" }[mark];
  const [, named = "utf-8"] = /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(marked ?? named).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function flat(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value = ""]): [string, string] => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(", ") : value,
  ]);
  return Object.fromEntries(pairs);
}
