/** Sends odd requests to an API and tells which of them it did not take well. */
import http from "node:http";
import fc from "fast-check";
import type { TestApi } from "./api.ts";
import { expectContract, procedureNames } from "./api-contract.ts";
import { type FuzzRequest, fuzzRequests } from "./fuzz-requests.ts";
import { createTenant } from "./tenant.ts";

type FuzzAnswer = { status: number; contentType: string | undefined; text: string };

export type FuzzReport = {
  sent: number;
  byStatus: Record<number, number>;
  /** What was not taken well: an answer of 500 and more, none, or one that breaks the contract. */
  faults: string[];
};

/** Requests delete what they meet: each batch has a tenant of its own. */
const batchSize = 200;
const parallel = 8;
const answerTimeoutMs = 70_000;

/** The same seed sends the same requests, but for ids. */
export async function fuzzApi(
  api: TestApi,
  { seed, count }: { seed: number; count: number },
): Promise<FuzzReport> {
  const report: FuzzReport = { sent: 0, byStatus: {}, faults: [] };
  const agent = new http.Agent({ keepAlive: true, maxSockets: parallel });
  for (let batch = 0; report.sent < count; batch += 1) {
    const numRuns = Math.min(batchSize, count - report.sent);
    const tenant = await createTenant(api, `fuzz${batch}x`);
    const requests = fc.sample(fuzzRequests(tenant), { seed: seed + batch, numRuns });
    for (let at = 0; at < requests.length; at += parallel) {
      const some = requests.slice(at, at + parallel);
      await Promise.all(some.map((request) => tryOne(api.url, { request, agent, report })));
    }
  }
  agent.destroy();
  return report;
}

type Try = { request: FuzzRequest; agent: http.Agent; report: FuzzReport };

async function tryOne(url: string, { request, agent, report }: Try): Promise<void> {
  report.sent += 1;
  try {
    const answer = await send(url, request, agent);
    report.byStatus[answer.status] = (report.byStatus[answer.status] ?? 0) + 1;
    judge(request, answer);
  } catch (error) {
    const { method, path, headers, body } = request;
    const sent = `${method} ${path} ${JSON.stringify(headers)} ${body.toString("latin1").slice(0, 500)}`;
    report.faults.push(`${(error as Error).message}\n  ${sent}`);
  }
}

/** Throws at what no request may bring about. */
function judge({ method, path }: FuzzRequest, { status, contentType, text }: FuzzAnswer): void {
  if (status >= 500) throw new Error(`${status}: ${text.slice(0, 300)}`);
  if (/node_modules|\bat .*:\d+:\d+/.test(text)) throw new Error(`a stack trace: ${text}`);
  const procedure = path.replace("/v2/", "").split("?", 1)[0] ?? "";
  if (method !== "POST" || !procedureNames.includes(procedure)) return;
  expectContract({ procedure, status, contentType, text });
}

function send(url: string, request: FuzzRequest, agent: http.Agent): Promise<FuzzAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
  const { hostname, port } = new URL(url);
  const { method, path, body } = request;
  const headers = { ...request.headers, ...lengthOf(request) };
  const timeout = answerTimeoutMs;
  const sending = http.request({ hostname, port, method, path, headers, agent, timeout });
  sending.on("response", (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("error", reject);
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        contentType: response.headers["content-type"],
        text: Buffer.concat(chunks).toString(),
      }),
    );
  });
  sending.on("timeout", () => sending.destroy(new Error(`no answer within ${answerTimeoutMs} ms`)));
  sending.on("error", reject);
  sending.end(body);
  return promise;
}

function lengthOf({ headers, body }: FuzzRequest): Record<string, string> {
  return "transfer-encoding" in headers ? {} : { "content-length": String(body.length) };
}
