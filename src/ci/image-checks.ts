/** The checks of one image: what each kind reads, and who judges it. */
import type { CommitApi } from "#ci/commit/api.ts";
import { checkCommit } from "#ci/commit/check.ts";
import { unlessAborted } from "#kernel/async.ts";
import { cleanWords, type Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { cleanText } from "#kernel/text.ts";
import type { CiConfig } from "./config.ts";
import type { CiEvidence, CiKind, CiResult } from "./contract.ts";
import { type Attachment, CiTrouble, type Finding, type Subject } from "./finding.ts";

/** Reads from the image's registry. They throw a `ProblemError`. */
export type ImageSources = {
  readLabels: (image: string, signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  readAttachments: (image: string, signal: AbortSignal) => Promise<ImageAttachments>;
  commits: CommitApi;
  signatures: CheckSignatures;
};

/** `omitted`: how many were too large, too many or gone. `troubles`: why others could not be read now. */
type ImageAttachments = {
  manifest: Buffer;
  attachments: Attachment[];
  omitted: number;
  troubles: string[];
};

type Grade = (subject: Subject, attachments: readonly Attachment[]) => Promise<Finding>;
type CheckSignatures = { checkSignature: Grade; checkProvenance: Grade };

export type ImageChecks = Record<CiKind, () => Promise<Finding>>;

/** Creates the checks of one image, pinned to its digest. They share what they read; `signal` aborts the reading. */
export function createImageChecks(settings: CiConfig, sources: ImageSources) {
  return (image: string, signal: AbortSignal): ImageChecks => {
    const labels = once(() => sources.readLabels(image, signal));
    const attached = once(() => sources.readAttachments(image, signal));
    const digest = image.slice(image.indexOf("@") + 1);
    const gradeAttachments = async (grade: Grade) => {
      const { manifest, attachments, omitted, troubles } = await attached();
      const finding = await grade({ digest, manifest }, attachments);
      // The missing evidence may be among that which could not be read.
      if (finding.result === "passed") return finding;
      if (troubles.length > 0) throw new CiTrouble(troubles.join("; "));
      return omitted === 0 ? finding : notLookedAt(finding, omitted);
    };
    return {
      commit: async () => checkCommit(await labels(), settings.commit, sources.commits),
      label: async () => gradeLabels(await labels(), settings.labels),
      signature: () => gradeAttachments(sources.signatures.checkSignature),
      provenance: () => gradeAttachments(sources.signatures.checkProvenance),
    };
  };
}

function notLookedAt({ detail }: Finding, omitted: number): Finding {
  const counted = `${omitted} attached are too many, too large or gone, and were not looked at`;
  return { result: "unverifiable", detail: `${detail}; ${counted}` };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

export function gradeLabels(
  labels: ReadonlyMap<string, string>,
  wanted: Readonly<Record<string, string>>,
): Finding {
  const names = Object.keys(wanted);
  const other = names.filter((name) => labels.has(name) && labels.get(name) !== wanted[name]);
  if (other.length > 0) {
    const found = other.map((name) => `${name}=${cleanText(labels.get(name) ?? "", 60)}`);
    return { result: "failed", detail: `the image has ${found.join(", ")}` };
  }
  const absent = names.filter((name) => !labels.has(name));
  if (absent.length > 0) {
    return { result: "missing", detail: `the image has no label ${absent.join(", ")}` };
  }
  return { result: "passed", detail: `the image has ${names.join(", ")}` };
}

/** The evidence about an image that is pinned to its digest; never throws. */
type CheckCi = (image: string) => Promise<CiEvidence[]>;

type CheckParts = {
  required: readonly CiKind[];
  /** Results with which an image passes, besides `passed`. */
  allow: readonly CiResult[];
  checksOf: (image: string, signal: AbortSignal) => ImageChecks;
  log: Log;
};

/** Limit of all kinds together: the caller of a rollout waits for them. */
const limitMs = 15_000;

const detailLength = 500;

/** Checks whether an image has passed CI: each kind of evidence that the settings ask for. */
export function createCheckCi({ required, allow, checksOf, log }: CheckParts): CheckCi {
  return (image) => {
    const signal = AbortSignal.timeout(limitMs);
    const checks = checksOf(image, signal);
    return Promise.all(
      required.map(async (kind) => {
        const asked = unlessAborted(checks[kind](), signal);
        const { result, detail, url } = await asked.catch((error: Error) => {
          log.warn({ err: error, kind, image }, "evidence of CI not read");
          return findingOf(error);
        });
        const passes = result === "passed" || allow.includes(result);
        const about = { detail: cleanWords(detail, detailLength), ...linkOf(url) };
        return { kind, result, passes, ...about };
      }),
    );
  };
}

/** Statements name addresses of their own: a browser is given nothing but a web page's. */
function linkOf(url = ""): Pick<CiEvidence, "url"> {
  const address = url.length > 300 ? null : URL.parse(url);
  return address !== null && /^https?:$/.test(address.protocol) ? { url: address.href } : {};
}

/** Whoever cannot be asked says nothing about the image, but an image that cannot be read is not proven. */
function findingOf(error: Error): Finding {
  const { code = "" } = error instanceof ProblemError ? error : {};
  const isOfImage = ["image_unreadable", "image_not_found"].includes(code);
  return { result: isOfImage ? "unverifiable" : "unavailable", detail: wordsOf(error) };
}

function wordsOf(error: Error): string {
  if (error instanceof CiTrouble || error instanceof ProblemError) return error.message;
  if (error.name === "TimeoutError") return `no answer within ${limitMs / 1_000} seconds`;
  return "an error of ours; the worker's log has it";
}
