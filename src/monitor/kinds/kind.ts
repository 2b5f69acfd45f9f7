/** The parts of a kind of check: all that the program asks of one. The shortest example is `tcp.ts`. */
import { z } from "zod";
import type { ReadSecret } from "#kernel/secrets.ts";
import type { Hide } from "./assertions.ts";
import type { Measured, Observation, TimeLimit } from "./observe.ts";
import type { Requester } from "./request.ts";

/** degraded: slower than its threshold. failed: wrong, unreachable or slower than allowed. */
export const grades = ["ok", "degraded", "failed"] as const;
export type Grade = (typeof grades)[number];

/** Why a result is not ok: too slow, an answer with the wrong content, or no complete answer. */
export const causes = ["slow", "assertion", "error"] as const;
export type Cause = (typeof causes)[number];

/** Why the content of an answer is not ok. */
export type Wrong = { grade: "degraded" | "failed"; cause: Cause; reason: string };

/** An answer that has not what is asserted. null: it has. */
export function failedBy(reason: string | null): Wrong | null {
  return reason === null ? null : { grade: "failed", cause: "assertion", reason };
}

/** A check in words, for people. */
export const Description = z.object({
  /** Kinds other than HTTP have `TCP` and the like. */
  method: z.string(),
  /** Kinds other than HTTP have `db.example.com:5432` and the like. */
  path: z.string(),
  /** The assertions, and each step. */
  details: z.array(z.object({ name: z.string(), value: z.string() })),
});

/** The API that checks call, and where their secrets are. */
export type Target = { baseUrl: string; readSecret: ReadSecret };

/** `request`: makes the requests of HTTP. */
export type Run = TimeLimit & { request: Requester; target: Target; hide: Hide };

/** Says what is wrong with a field of a row. */
export type Complain = (field: (string | number)[], message: string) => void;

/** The conversion of a check for the hosted monitor. */
type Hosted<Check> = {
  /** Why it cannot be there as it is; empty: it can. */
  findFaults(check: Check): string[];
  /** The construct of its package, and the lines that it has besides those of all checks. */
  write(
    check: Check,
    settings: HostedSettings,
  ): { construct: string; imports: string[]; lines: string[] };
};

export type HostedSettings = {
  /** The address of the API for the hosted monitor, without a trailing slash. */
  baseUrl: string;
  /** The secrets are `<prefix>_KEY` and `<prefix>_ROOT_KEY`. */
  secretPrefix: string;
};

/** The fields that every good or wrong answer may have, whatever its kind. */
export type AnyAnswer = {
  kind: string;
  status?: number | null;
  /** Nothing answered, so that the fault may be that of our own network. */
  isUnreached?: true;
};

/** The parts besides the schemas. `Check`: a check as the monitor has it; `Row`: as the definitions have it. */
export type Parts<Check, Row, Answer> = {
  /** Complains of what fields must not say of each other. */
  lint(row: Row, complain: Complain): void;
  /** Complains of placeholders that are no secrets, or are not where one may be. */
  lintPlaceholders(row: Row, complain: Complain): void;
  toCheck(row: Row): Check;
  /** Has nothing of a header, a body or what is sent, which may be secret. */
  describe(check: Check): z.infer<typeof Description>;
  /** Builds a run and sends nothing; asks `readSecret`. Throws a `MisdirectedSecret` if one may not go there. */
  build(check: Check, target: Target): void;
  /** The hosts to which a run leads; empty: those that the system chooses. */
  hostsOf(check: Check, baseUrl: string): string[];
  /** Throws only what `build` throws: an error is an outcome. */
  probe(check: Check, run: Run): Promise<Observation<Answer>>;
  /** Why an answer is not ok, however quick it was; null: its content is good. */
  grade(check: Check, observation: Measured<Answer>): Wrong | null;
  /** null: these checks are left out of the export to the hosted monitor. */
  hosted: Hosted<Check> | null;
};

/** `fields`: what a check has besides what all have; `row`: the same of a row in the definitions. */
export type CheckKind<
  Fields extends z.ZodRawShape,
  Row extends z.ZodRawShape,
  Answer extends AnyAnswer,
> = { fields: Fields; row: Row } & Parts<
  z.output<z.ZodObject<Fields>>,
  z.output<z.ZodObject<Row>>,
  Answer
>;

/** Infers the types of a kind from its schemas and its probe. */
export function defineKind<
  Fields extends z.ZodRawShape & { kind: z.ZodType },
  Row extends z.ZodRawShape & { kind: z.ZodType },
  Answer extends AnyAnswer,
>(kind: CheckKind<Fields, Row, Answer>): CheckKind<Fields, Row, Answer> {
  return kind;
}
