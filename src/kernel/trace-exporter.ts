/** The exporter of spans by OTLP over HTTP, loaded only where a receiver is set. Reads the standard variables `OTEL_*`. */
import {
  type Attributes,
  createTraceState,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import { inTime } from "./async.ts";
import type { Log } from "./log.ts";
import { readVersion } from "./process.ts";
import { type Exporter, headersOf, type Span, setExporter, type Trace } from "./tracing.ts";

/** Less than the 5 s of the specification: what waits is lost with the process. */
const delayMs = 1_000;

/** The limit of a delivery with its repetitions, as of the queue's: the package limits the time without a byte, and 4 MB. */
const deliverLimitMs = 30_000;

/** Starts to export spans. Returns how it is stopped, which sends what waits. */
export function exportTraces(environment: NodeJS.ProcessEnv, log: Log): () => Promise<void> {
  const { stop, ...exporter } = createExporter(environment, log);
  setExporter(exporter);
  return () => {
    setExporter(undefined);
    return stop();
  };
}

function createExporter(environment: NodeJS.ProcessEnv, log: Log) {
  const sampler = samplerOf(environment, log);
  const output = withReport(new OTLPTraceExporter(), log);
  const queue = new BatchSpanProcessor({
    exporter: output,
    scheduledDelayMillis: Number(environment["OTEL_BSP_SCHEDULE_DELAY"]) || delayMs,
    maxQueueSize: Number(environment["OTEL_BSP_MAX_QUEUE_SIZE"]) || undefined,
    maxExportBatchSize: Number(environment["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"]) || undefined,
  } as ConstructorParameters<typeof BatchSpanProcessor>[0]);
  const toReadable = createToReadable();
  const deliver = (spans: readonly Span[]) =>
    new Promise<boolean>((resolve) => {
      output.export(spans.map(toReadable), ({ code }) => resolve(code === 0));
    });
  const exporter: Exporter & { stop: () => Promise<void> } = {
    samples: (traceId, parent) => isSampled(sampler, traceId, parent),
    add: (span) => queue.onEnd(toReadable(span)),
    flush: () => void queue.forceFlush().catch(() => {}),
    deliver: (spans) => inTime(() => deliver(spans), { limitMs: deliverLimitMs, otherwise: false }),
    stop: () => queue.shutdown().catch(() => {}),
  };
  return exporter;
}

/** Logs once that the receiver does not take spans, and once that it does again. */
function withReport(exporter: SpanExporter, log: Log): SpanExporter {
  let isAway = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code !== 0 && !isAway) {
          log.warn({ detail: result.error?.message }, "traces do not reach their receiver");
        }
        if (result.code === 0 && isAway) log.info("traces reach their receiver again");
        isAway = result.code !== 0;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** The samplers that the specification names, each also with `parentbased_` before its name. */
const samplers: Record<string, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
};

function samplerOf(environment: NodeJS.ProcessEnv, log: Log): Sampler {
  const { OTEL_TRACES_SAMPLER: name = "", OTEL_TRACES_SAMPLER_ARG: given = "" } = environment;
  const create = samplers[name.replace(/^parentbased_/, "") || "always_on"];
  const ratio = given === "" ? 1 : Number(given);
  const isKnown = create !== undefined && ratio >= 0 && ratio <= 1;
  if (!isKnown)
    log.warn({ sampler: name, ratio: given }, "OTEL_TRACES_SAMPLER is not known: all is sampled");
  const root = isKnown ? create(ratio) : new AlwaysOnSampler();
  return Object.hasOwn(samplers, name) ? root : new ParentBasedSampler({ root });
}

function isSampled(sampler: Sampler, traceId: string, parent: Trace | undefined): boolean {
  const remote = parent && { ...toContext(parent), isRemote: true };
  const context = remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
  const { decision } = sampler.shouldSample(context, traceId, "", SpanKind.INTERNAL, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function toContext(trace: Trace): SpanContext {
  const { tracestate } = headersOf(trace);
  return {
    traceId: trace.slice(3, 35),
    spanId: trace.slice(36, 52),
    traceFlags: Number.parseInt(trace.slice(53, 55), 16) & TraceFlags.SAMPLED,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

/** The environment's names of the service come before ours. */
function createToReadable(): (span: Span) => ReadableSpan {
  const version = readVersion();
  const own = { "service.name": "vedette", "service.version": version };
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
  const instrumentationScope = { name: "vedette", version };
  const shared = { links: [], events: [], resource, instrumentationScope };
  return ({ trace, parent, name, kind, startMs, endMs, attributes, error }) => {
    const context = toContext(trace);
    // Only what the package sends: of a driver's calls there are many.
    const span = {
      ...shared,
      name,
      kind: SpanKind[kind.toUpperCase() as Uppercase<Span["kind"]>],
      spanContext: () => context,
      parentSpanContext: parent === undefined ? undefined : toContext(parent),
      startTime: toHrTime(startMs),
      endTime: toHrTime(endMs),
      status: { code: error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: toAttributes(attributes, error),
    };
    return span as unknown as ReadableSpan;
  };
}

function toAttributes(given: Span["attributes"], error: string | undefined): Attributes {
  const attributes: Attributes = {};
  for (const name in given) if (given[name] !== undefined) attributes[name] = given[name];
  if (error !== undefined) attributes["error.type"] = error;
  return attributes;
}

function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
