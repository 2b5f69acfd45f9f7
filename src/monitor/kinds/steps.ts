/** A check with steps: requests one after the other, each on a new connection, without cookies. */
import { z } from "zod";
import {
  type Binding,
  catchMisdirected,
  findPlaceholders,
  hideSecrets,
  hostIn,
  MisdirectedSecret,
  type Secret,
} from "#kernel/secrets.ts";
import {
  Extraction,
  extract,
  extractName,
  faultOfResponse,
  hideFrom,
  hintAt,
  type Response,
} from "./assertions.ts";
import { secretName, text } from "./fields.ts";
import { type Complain, defineKind, failedBy, type Run, type Target, type Wrong } from "./kind.ts";
import { noPhases, type Observation, type Phases, phaseNames } from "./observe.ts";
import {
  addressOf,
  buildRequest,
  hostsIn,
  maxBodyBytes,
  type ProbeRequest,
  requestFields,
} from "./request.ts";
import { lintRequest, requestRow } from "./request-fields.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const maxSteps = 20;
const maxExtracts = 20;

const Step = z.object({
  /** null: it has none but its number. */
  name: z.string().nullable(),
  method: z.enum(methods),
  ...requestFields,
  /** By the name that later steps use. */
  extract: z.record(z.string(), Extraction),
});
type Step = z.infer<typeof Step>;

const StepRow = z.strictObject({
  name: text(100).optional().describe("As reasons have it, besides its number."),
  method: z.enum(methods).default("GET"),
  ...requestRow,
  extract: z
    .record(
      z
        .string()
        .max(50)
        .regex(extractName, "has to be lower-case letters and digits, such as order_id"),
      Extraction,
    )
    .default({})
    .refine((given) => Object.keys(given).length <= maxExtracts, `has more than ${maxExtracts}`)
    .describe("Values of the answer by name, which later steps use as {{name}}."),
});
type StepRow = z.output<typeof StepRow>;

export const steps = defineKind({
  fields: { kind: z.literal("steps"), steps: z.array(Step).min(1).max(maxSteps) },
  row: {
    kind: z.literal("steps").describe("Requests of HTTP, one after the other."),
    steps: z.array(StepRow).min(1).max(maxSteps).describe("The first that fails ends the run."),
  },
  lint(row, complain) {
    for (const [index, step] of row.steps.entries()) {
      lintRequest(step, "method", (field, message) =>
        complain(["steps", index, ...field], message),
      );
    }
  },
  lintPlaceholders: (row, complain) => lintSteps(row.steps, complain),
  toCheck(row) {
    const toStep = ({ name, url, path = "/", ...same }: StepRow): Step => ({
      ...{ ...same, name: name ?? null, path: url ?? path },
    });
    return { kind: row.kind, steps: row.steps.map(toStep) };
  },
  describe({ steps: all }) {
    const details = all.map(({ name, method, path }, index) => ({
      name: `Step ${index + 1}`,
      value: `${name === null ? "" : `${name}: `}${method} ${path}`,
    }));
    return {
      method: "STEPS",
      path: `${all.length} request${all.length === 1 ? "" : "s"}`,
      details,
    };
  },
  build(check, target) {
    const { values, sent }: Taken = { values: new Map(), sent: new Set() };
    for (const [step, one] of check.steps.entries()) {
      const found = catchMisdirected(() => buildStep(one, { values, sent }, target));
      if (found instanceof MisdirectedSecret) throw Object.assign(found, { step });
      const taken = { value: "x", bindings: [...sent] };
      for (const name of Object.keys(one.extract)) values.set(name, taken);
    }
  },
  hostsOf: (check, baseUrl) => check.steps.flatMap((step) => hostsIn(addressOf(step, baseUrl))),
  probe: probeSteps,
  grade: (_check, { outcome }) => outcome.fault,
  hosted: null,
});

/** Complains of placeholders that name neither a secret nor what an earlier step takes. */
function lintSteps(all: readonly StepRow[], complain: Complain): void {
  for (const [index, { url = "", path, headers, body }] of all.entries()) {
    const known = namesOf(all.slice(0, index));
    const inHost = new Set(findPlaceholders(hostIn(url)).map(({ name }) => name));
    for (const { name, field } of findPlaceholders({ url, path, headers, body })) {
      const isInHost = field[0] === "url" && inHost.has(name);
      const fault = findFault(name, { known, named: namesOf(all), isInHost });
      if (fault !== undefined) complain(["steps", index, ...field], fault);
    }
  }
}

/** The names of what they take from their answers. */
function namesOf(some: readonly StepRow[]): Set<string> {
  return new Set(some.flatMap(({ extract }) => Object.keys(extract)));
}

type Place = { known: ReadonlySet<string>; named: ReadonlySet<string>; isInHost: boolean };

function findFault(name: string, { known, named, isInHost }: Place): string | undefined {
  if (secretName.test(name)) return undefined;
  if (known.has(name)) return isInHost ? noHost : undefined;
  if (!extractName.test(name)) {
    return "between double braces is the name of a secret, such as {{API_KEY}}, or of what an earlier step takes from its answer, such as {{order_id}}, and only in a value";
  }
  return named.has(name)
    ? `{{${name}}} is used before a step takes it from its answer`
    : `no step takes {{${name}}} from its answer: name it in \`extract\` of an earlier one`;
}

const noHost =
  "what a step takes from its answer must not name the host: the secrets of the request would go wherever an answer says";

type Failed = Wrong & { isUnreached?: true };

type Answer = {
  kind: "steps";
  /** The status of the last answer. */
  status: number | null;
  /** The fault of the step at which it ended; null: all were good. */
  fault: Wrong | null;
  isUnreached?: true;
};

/** Values that the steps so far have taken, and the secrets that they have sent: an answer may repeat any of them. */
type Taken = { values: Map<string, Secret>; sent: Set<Binding> };

type Progress = Taken & {
  /** The values that a step would have taken had it been good: its reason may quote them. */
  untaken: string[];
  seen: Pick<Observation<unknown>, "phases" | "tlsDaysLeft">;
  status: number | null;
};

/** Ends at the first step that is not good, which the reason names. */
async function probeSteps(
  check: { steps: readonly Step[] },
  run: Run,
): Promise<Observation<Answer>> {
  const startedMs = performance.now();
  // Over all steps.
  const signal = AbortSignal.timeout(run.timeoutMs);
  const progress: Progress = {
    ...{ values: new Map(), sent: new Set(), untaken: [] },
    ...{ seen: { phases: noPhases, tlsDaysLeft: null }, status: null },
  };
  let failed: Failed | null = null;
  for (const [index, step] of check.steps.entries()) {
    failed = await takeStep(step, progress, { ...run, signal }).catch(faultOfSecret);
    if (failed === null) continue;
    failed = { ...failed, reason: `${titleOf(step, index)}: ${failed.reason}` };
    break;
  }
  const { isUnreached, ...fault } = failed ?? error("");
  const hiding = { ...fault, reason: hideValues(progress)(fault.reason) };
  const outcome = {
    ...{ kind: "steps" as const, status: progress.status, fault: failed && hiding },
    ...(isUnreached && { isUnreached }),
  };
  return { durationMs: performance.now() - startedMs, ...progress.seen, outcome };
}

/** They may be tokens. Shorter ones are no secrets, and would tear holes into every text. */
const isLong = ({ length }: string) => length >= 6;

function hideValues({ values, untaken }: Progress): (text: string) => string {
  const all = [...[...values.values()].map(({ value }) => value), ...untaken];
  return (text) => hideSecrets(text, all.filter(isLong));
}

function faultOfSecret(fault: unknown): Failed {
  if (fault instanceof MisdirectedSecret) return error(fault.message);
  throw fault;
}

function titleOf({ name }: Step, index: number): string {
  return `step ${index + 1}${name === null ? "" : ` (${name})`}`;
}

async function takeStep(
  step: Step,
  progress: Progress,
  { request: send, target, timeoutMs, signal }: Run & { signal: AbortSignal },
): Promise<Failed | null> {
  const request = buildStep(step, progress, target);
  const unfit = findUnfit(request, step);
  if (unfit !== null) return error(unfit);
  const observation = await send(request, { timeoutMs, maxBodyBytes, signal });
  progress.seen = add(progress.seen, observation);
  const { outcome } = observation;
  if (outcome.kind === "error") {
    return { ...error(outcome.reason), ...(outcome.isUnreached && { isUnreached: true }) };
  }
  progress.status = outcome.status;
  const wrong = faultOfResponse(step.assertions, hideFrom(outcome, hideValues(progress)));
  if (wrong === null) return takeValues(step, outcome, progress);
  const untaken = Object.values(step.extract).map((from) => extract(from, outcome));
  progress.untaken = untaken.flatMap((value) => (typeof value === "object" ? [] : [String(value)]));
  return failedBy(wrong);
}

/** The request of the next step. What it sends is remembered as sent. */
function buildStep(step: Step, { values, sent }: Taken, target: Target) {
  const readSecret = (name: string) => {
    const secret = values.get(name) ?? target.readSecret(name);
    for (const binding of secret?.bindings ?? []) sent.add(binding);
    return secret;
  };
  return buildRequest(step, { baseUrl: target.baseUrl, readSecret });
}

const error = (reason: string): Failed => ({ grade: "failed", cause: "error", reason });

/** Describes why a value from an answer must not be sent; null: it may be. */
function findUnfit({ headers, url }: ProbeRequest, { path }: Step): string | null {
  // It could end the header and begin another.
  const header = Object.keys(headers).find(
    (name) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(headers[name] ?? ""),
  );
  if (header !== undefined)
    return `the header ${header} would have characters that no header may have`;
  // It would lead to the address of another resource.
  const leadsUp = (address: string) => /\/\.{1,2}(?:[/?#]|$)/.test(address);
  return leadsUp(url) && !leadsUp(path) ? "the address would have a part that is only dots" : null;
}

function takeValues(step: Step, response: Response, { values, sent }: Taken): Wrong | null {
  for (const [name, from] of Object.entries(step.extract)) {
    const value = extract(from, response);
    const fault = faultOfValue(value, from);
    if (fault !== null) {
      const hint = from.source === "json" ? hintAt(response) : "";
      return failedBy(`${name} is not there: ${fault}${hint}`);
    }
    values.set(name, { value: String(value), bindings: [...sent] });
  }
  return null;
}

/** Longer values are no ids or tokens, and would be sent again and again. */
const longestValue = 4_096;

function faultOfValue(value: unknown, from: Extraction): string | null {
  const where = from.source === "json" ? from.path : `header ${from.name}`;
  if (value === undefined || value === null || value === "") return `${where} is absent`;
  if (typeof value === "object") return `${where} is not a text, number, true or false`;
  return String(value).length > longestValue
    ? `${where} is longer than ${longestValue} characters`
    : null;
}

/** The phases of all steps; of several certificates the fewest days. */
function add(
  sum: Progress["seen"],
  { phases, tlsDaysLeft: days }: Progress["seen"],
): Progress["seen"] {
  const added = phaseNames.map((name) => [name, addMs(sum.phases[name], phases[name])]);
  const both = [sum.tlsDaysLeft, days].filter((one) => one !== null);
  return {
    phases: Object.fromEntries(added) as Phases,
    tlsDaysLeft: both.length === 0 ? null : Math.min(...both),
  };
}

function addMs(sum: number | null, ms: number | null): number | null {
  return sum === null ? ms : sum + (ms ?? 0);
}
