/** What SLSA provenance says about a build: https://slsa.dev/spec/v1.0/provenance and v0.2. */
import { z } from "zod";
import { slsaProvenance, slsaProvenance02 } from "./predicates.ts";
import { Unfit } from "./unfit.ts";

export type Provenance = {
  builder: string;
  source: string;
  /** The build's name, often its address. */
  run: string | undefined;
};

/** Whether statements of this type are provenance that we can read. */
export function isProvenance(predicateType: string): boolean {
  return predicateType === slsaProvenance || predicateType === slsaProvenance02;
}

/** Throws `Unfit` when the predicate lacks builder or source. */
export function readProvenance(predicateType: string, predicate: unknown): Provenance {
  const { builder, source, run } =
    predicateType === slsaProvenance ? readVersion1(predicate) : readVersion02(predicate);
  if (builder === undefined) throw new Unfit("its provenance names no builder");
  if (source === undefined) throw new Unfit("its provenance names no source");
  return { builder, source, run };
}

type Parts = { [Name in keyof Provenance]: Provenance[Name] | undefined };

const text = z.string().min(1).optional().catch(undefined);

/** What is missing or of another type is undefined: builders differ in all but the name of the builder. */
const lenient = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape).optional().catch(undefined);

const Places = z
  .array(lenient({ uri: text }))
  .optional()
  .catch(undefined);

const Version1 = z.object({
  buildDefinition: lenient({
    externalParameters: lenient({
      source: lenient({ uri: text }),
      workflow: lenient({ repository: text }),
    }),
    resolvedDependencies: Places,
  }),
  runDetails: lenient({
    builder: lenient({ id: text }),
    metadata: lenient({ invocationId: text }),
  }),
});

function readVersion1(predicate: unknown): Parts {
  const { buildDefinition, runDetails } = parse(Version1, predicate);
  const { externalParameters: given, resolvedDependencies } = buildDefinition ?? {};
  return {
    builder: runDetails?.builder?.id,
    source: given?.source?.uri ?? given?.workflow?.repository ?? resolvedDependencies?.[0]?.uri,
    run: runDetails?.metadata?.invocationId,
  };
}

const Version02 = z.object({
  builder: lenient({ id: text }),
  invocation: lenient({ configSource: lenient({ uri: text }) }),
  materials: Places,
  metadata: lenient({ buildInvocationId: text }),
});

function readVersion02(predicate: unknown): Parts {
  const { builder, invocation, materials, metadata } = parse(Version02, predicate);
  return {
    builder: builder?.id,
    source: invocation?.configSource?.uri ?? materials?.[0]?.uri,
    run: metadata?.buildInvocationId,
  };
}

function parse<Shape>(shape: z.ZodType<Shape>, predicate: unknown): Shape {
  const parsed = shape.safeParse(predicate);
  if (!parsed.success) throw new Unfit("its provenance is not an object");
  return parsed.data;
}
