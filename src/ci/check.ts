/** Checks whether an image has passed CI: each kind of evidence that the settings ask for. */
import type { Log } from "#kernel/log.ts";
import { cleanWords } from "#kernel/log-text.ts";
import { ProblemError } from "#kernel/problem.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import type { CiEvidence, CiKind, CiResult } from "./contract.ts";
import type { Finding } from "./finding.ts";
import type { ImageChecks } from "./image-checks.ts";
import { CiTrouble } from "./trouble.ts";

/** The evidence about an image that is pinned to its digest; never throws. */
export type CheckCi = (image: string) => Promise<CiEvidence[]>;

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
