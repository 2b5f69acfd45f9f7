/** Sends one instant query to a fleet's Prometheus, with limits on its time and its answer. */
import { z } from "zod";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { createReach } from "#kernel/reach.ts";
import type { PrometheusAnswer, QueryPrometheus, Sample } from "./kind.ts";

/** Of the settings alone: no request names another server, to which the token would go. */
export type PrometheusServer = { url: string; token: string };

const limitMs = 10_000;

/** The largest answer: of a gate, and of all sentinels of a fleet. */
type Most = { mebibytes: number; series: number };
const mostOfGate: Most = { mebibytes: 1, series: 1_000 };
const mostOfFleet: Most = { mebibytes: 32, series: 100_000 };

const reach = createReach();

/** Never throws: what is no answer is an error in words, without the address and the token. */
export function createQueryPrometheus(server: PrometheusServer | undefined): QueryPrometheus {
  return async (query) => toSamples(await ask(server, query, mostOfGate));
}

/** Returns the values of an instant vector by one of its labels. Throws what is no answer, in words. */
export function createQueryByLabel(server: PrometheusServer) {
  return async (query: string, label: string): Promise<Map<string, number>> => {
    const data = await ask(server, query, mostOfFleet);
    if ("error" in data) throw new Error(data.error);
    const series = data.resultType === "scalar" ? [] : data.result;
    return new Map(
      series.flatMap(({ metric, value }) => {
        const name = metric[label];
        return name === undefined ? [] : [[name, toNumber(value)] as const];
      }),
    );
  };
}

type Data = z.infer<ReturnType<typeof answerOf>>;

async function ask(
  server: PrometheusServer | undefined,
  query: string,
  most: Most,
): Promise<Data | { error: string }> {
  if (server === undefined) return { error: "rollout.prometheus_url is not set" };
  try {
    return await send(server, query, most);
  } catch (error) {
    // The code of a timeout is a number.
    const { code, name } = error as { code?: unknown; name: string };
    return { error: `Prometheus does not answer (${typeof code === "string" ? code : name})` };
  }
}

async function send({ url, token }: PrometheusServer, query: string, most: Most) {
  const answer = await request(`${url}/api/v1/query`, {
    method: "POST",
    dispatcher: reach.agent,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(token !== "" && { authorization: `Bearer ${token}` }),
    },
    body: new URLSearchParams({ query, timeout: `${limitMs / 1_000}s` }).toString(),
    signal: AbortSignal.timeout(limitMs),
  });
  const bytes = await readBody(answer.body, most.mebibytes * 1024 * 1024);
  if (bytes === undefined) {
    return { error: `Prometheus answers with more than ${most.mebibytes} MiB` };
  }
  return readData(parseJson(withoutSecret(bytes, token)), answer.statusCode, most);
}

const Point = z.tuple([z.number(), z.string()]);
const Labels = z.record(z.string(), z.string());
const answerOf = ({ series }: Most) =>
  z.discriminatedUnion("resultType", [
    z.object({ resultType: z.literal("scalar"), result: Point }),
    z.object({
      resultType: z.literal("vector"),
      result: z.array(z.object({ metric: Labels, value: Point })).max(series),
    }),
  ]);
const Refusal = z.object({ status: z.literal("error"), error: z.string() });

/** Reads the body of an answer; undefined: it was no JSON. */
export function readAnswer(body: unknown, status: number): PrometheusAnswer {
  return toSamples(readData(body, status, mostOfGate));
}

function readData(body: unknown, status: number, most: Most): Data | { error: string } {
  const refusal = Refusal.safeParse(body).data;
  if (refusal !== undefined) return { error: `Prometheus refuses the query: ${refusal.error}` };
  const answer = z.object({ status: z.literal("success"), data: z.unknown() }).safeParse(body).data;
  if (status !== 200 || answer === undefined) {
    return { error: `status ${status}, and no answer of Prometheus` };
  }
  const data = answerOf(most).safeParse(answer.data).data;
  if (data !== undefined) return data;
  return {
    error: `the query has to give a number or an instant vector of at most ${most.series} series`,
  };
}

function toSamples(data: Data | { error: string }): PrometheusAnswer {
  if ("error" in data) return data;
  if (data.resultType === "scalar") {
    return { samples: [{ labels: "", value: toNumber(data.result) }] };
  }
  const samples = data.result.map(({ metric, value }) => ({
    labels: describeLabels(metric),
    value: toNumber(value),
  }));
  return { samples };
}

function toNumber([, text]: z.infer<typeof Point>): number {
  if (/^[-+]?Inf$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return text.trim() === "" ? Number.NaN : Number(text);
}

function describeLabels(metric: Record<string, string>): Sample["labels"] {
  const pairs = Object.entries(metric).filter(([name]) => name !== "__name__");
  const words = pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return words.length === 0 ? "" : ` {${words.join(", ")}}`;
}
