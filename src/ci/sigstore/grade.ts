/** Decides if an image's attachments have the signature or the provenance that the settings require. */
import path from "node:path";
import { z } from "zod";
import type { Finding } from "#ci/finding.ts";
import { cleanWords } from "#kernel/log.ts";
import { cleanText } from "#kernel/text.ts";
import { type SigstoreConfig, slsaProvenance, slsaProvenance02 } from "./config.ts";
import type { Inspection, Inspections } from "./inspect.ts";
import { explain, Unfit } from "./unfit.ts";
import type { Signer } from "./verify.ts";

// Comparison with allowed names, in which `*` stands for any characters.

/** True if all of `text` fits a pattern, by case. The part before a pattern's `@` fits what is before the text's first. */
export function matchesAny(text: string, patterns: readonly string[]): boolean {
  const [name, ref] = splitAtFirst(text);
  return patterns.some((pattern) => {
    const [wanted, wantedRef] = splitAtFirst(pattern);
    if (wantedRef === undefined) return matches(text, pattern);
    return ref !== undefined && matches(name, wanted) && matches(ref, wantedRef);
  });
}

function splitAtFirst(text: string): [string, string?] {
  const at = text.indexOf("@");
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Matches without a regular expression: several `*` would make one slow, and the text is the signer's. */
function matches(text: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return text.length - from >= last.length && text.endsWith(last);
}

/**
 * A repository's address, so that what builders write compares with what people write:
 * `git+https://GitHub.com/acme/gw.git@refs/heads/main` is https://github.com/acme/gw. Without `git+`, password,
 * `.git`, `@ref`, `#ref` and the slash at the end; the host in lower case. Text that is no address stays as it is.
 */
export function normalizeSource(text: string): string {
  const url = URL.parse(text.trim().replace(/^git\+/i, ""));
  if (url === null || url.host === "") return text;
  // A ref may have slashes, and a name may begin with @. `URL` has already followed each `..` of the path.
  const path = url.pathname
    .replace(/(?<=[^/])@.*$/s, "")
    .replace(/(?<!\/)\/+$/, "")
    .replace(/\.git$/, "");
  return `${url.protocol}//${url.host.toLowerCase()}${path}${url.search}`;
}

const maxDetail = 500;

/** Accepts an attachment by returning what it proves. Throws `Unfit` with the reason if it proves nothing. */
type Accept = (inspection: Inspection) => Finding;

export function gradeSignature(inspections: Inspections, settings: SigstoreConfig): Finding {
  const isSignature = ({ claim }: Inspection) =>
    claim?.form !== "statement" || settings.predicates.includes(claim.predicateType);
  return grade(inspections, { what: "signature", isOne: isSignature }, (inspection) => {
    const signer = requireSigner(inspection, settings);
    const type = inspection.claim?.form === "statement" ? inspection.claim.predicateType : "";
    const detail = `signed by ${describe(signer)}${type === "" ? "" : ` as ${type}`}`;
    return pass(detail, signer.kind === "certificate" ? [signer.run] : []);
  });
}

export function gradeProvenance(inspections: Inspections, settings: SigstoreConfig): Finding {
  const isOne = ({ claim }: Inspection) =>
    claim === undefined || (claim.form === "statement" && isProvenance(claim.predicateType));
  return grade(inspections, { what: "provenance", isOne }, (inspection) => {
    const signer = requireSigner(inspection, settings);
    const { builder, source, run } = requireOrigin(inspection, settings);
    const detail = `built by ${short(builder)} from ${short(source)}, signed by ${describe(signer)}`;
    return pass(detail, [run, source]);
  });
}

type Kind = { what: string; isOne: (inspection: Inspection) => boolean };

/** Accepts if one of them is accepted: whoever may push can add others, which must not stop a rollout. */
function grade({ list, omitted }: Inspections, { what, isOne }: Kind, accept: Accept): Finding {
  const candidates = list.filter(isOne);
  const reasons: string[] = [];
  for (const inspection of candidates) {
    try {
      return accept(inspection);
    } catch (error) {
      reasons.push(`${cleanText(inspection.name, 40)}: ${explain(error)}`);
    }
  }
  const more = omitted === 0 ? "" : `; ${omitted} more were not looked at`;
  if (reasons.length === 0 && omitted === 0) return miss(list, what);
  const counted = `none of ${reasons.length} attached is a valid ${what}${more}`;
  return finish("unverifiable", [counted, ...reasons.slice(0, 3)].join("; "));
}

function miss(list: readonly Inspection[], what: string): Finding {
  const types = list.map(({ claim }) =>
    claim?.form === "statement" ? short(claim.predicateType) : "a signature",
  );
  const others = [...new Set(types)].slice(0, 3).join(", ");
  const attached = others === "" ? "" : `; attached is ${others}`;
  return finish("missing", `no ${what} is attached to the image${attached}`);
}

/** Throws `Unfit` when nobody signed, or somebody whom the settings do not name. */
function requireSigner(inspection: Inspection, { identities }: SigstoreConfig): Signer {
  if ("reason" in inspection) throw new Unfit(inspection.reason);
  const { signer } = inspection;
  if (signer.kind === "key") return signer;
  const isAllowed = Object.values(identities).some(
    ({ issuer, subject }) => issuer === signer.issuer && matchesAny(signer.subject, [subject]),
  );
  if (!isAllowed) throw new Unfit(`its signer is not allowed: ${describe(signer)}`);
  return signer;
}

/** Throws `Unfit` when builder or source are not allowed. */
function requireOrigin({ claim }: Inspection, settings: SigstoreConfig): Provenance {
  if (claim?.form !== "statement") throw new Unfit("is not a statement");
  const origin = readProvenance(claim.predicateType, claim.predicate);
  if (!matchesAny(origin.builder, settings.builders)) {
    throw new Unfit(`the builder ${short(origin.builder)} is not allowed`);
  }
  const allowed = settings.sources.map(normalizeSource);
  const source = normalizeSource(origin.source);
  if (!matchesAny(source, allowed)) throw new Unfit(`the source ${short(source)} is not allowed`);
  return { ...origin, source };
}

function describe(signer: Signer): string {
  if (signer.kind === "key") return `the key ${path.basename(signer.file)}`;
  return `${short(signer.subject)} (issuer ${short(signer.issuer)})`;
}

function short(text: string): string {
  return cleanWords(text, 160);
}

/** The first of the addresses that a person can open is where to look. */
function pass(detail: string, addresses: readonly (string | undefined)[]): Finding {
  const url = addresses.map(linkOf).find((address) => address !== undefined);
  return { ...finish("passed", detail), ...(url === undefined ? {} : { url }) };
}

function linkOf(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text);
  const isLink = url?.protocol === "https:" && url.username === "" && url.password === "";
  return isLink && url.href.length <= maxDetail ? url.href : undefined;
}

function finish(result: Finding["result"], detail: string): Finding {
  return { result, detail: cleanWords(detail, maxDetail) };
}

/** The facts that SLSA provenance states about a build: https://slsa.dev/spec/v1.0/provenance and v0.2. */
type Provenance = {
  builder: string;
  source: string;
  /** The build's name, often its address. */
  run: string | undefined;
};

function isProvenance(predicateType: string): boolean {
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

/** Reads absent parts, and parts of another type, as undefined: builders differ in all but the builder's name. */
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
