/** The kinds of checks. One more is a file like `tcp.ts` and its line in `kinds`: the compiler asks for each part. */
import { z } from "zod";
import { dns } from "./dns.ts";
import { http } from "./http.ts";
import type { AnyAnswer, CheckKind, Parts } from "./kind.ts";
import type { Observation } from "./observe.ts";
import { steps } from "./steps.ts";
import { tcp } from "./tcp.ts";
import { tls } from "./tls.ts";

export { text } from "./fields.ts";
export { type Complain, Description } from "./kind.ts";

/** A check without a kind is one of http. */
export const kinds = { http, tcp, dns, tls, steps } satisfies Record<string, AnyKind>;
type AnyKind = CheckKind<z.ZodRawShape, z.ZodRawShape, AnyAnswer>;
type Kinds = typeof kinds;
export type KindName = keyof Kinds;
export const kindNames = Object.keys(kinds) as KindName[];

type Part = "fields" | "row";
type AnyOf<Which extends Part> = { [Name in KindName]: z.ZodObject<Kinds[Name][Which]> }[KindName];
type AnswerOf<Kind> = Kind extends CheckKind<infer _F, infer _R, infer Answer> ? Answer : never;
type Answer = AnswerOf<Kinds[KindName]>;

/** The measurements of a probe, before it is graded. */
export type ProbeObservation = Observation<Answer>;

/** The parts of the kind of a check or row, which has to be given to them. */
export function kindOf({ kind }: { kind: KindName }) {
  return kinds[kind] as Parts<z.output<AnyOf<"fields">>, z.output<AnyOf<"row">>, Answer>;
}

/** The schema of all checks or rows: what all have, and what those of each kind have. */
export function ofAnyKind<Common extends z.ZodRawShape, Which extends Part>(
  common: z.ZodObject<Common>,
  part: Which,
) {
  const all: unknown = kindNames.map((name) => common.extend(kinds[name][part]));
  return z.discriminatedUnion("kind", all as [z.ZodObject]) as unknown as z.ZodType<
    z.output<z.ZodObject<Common>> & z.output<AnyOf<Which>>,
    z.input<z.ZodObject<Common>> & z.input<AnyOf<Which>>
  >;
}
