/** Checks whether an image has passed CI: each kind of evidence that the settings ask for. */
import { cleanText } from "#kernel/clean-text.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { unlessLate } from "#kernel/unless-aborted.ts";
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
  checksOf: (image: string) => ImageChecks;
  log: Log;
};

/** Of one kind: the caller of a rollout waits for it. */
const limitMs = 15_000;

const detailLength = 500;

export function createCheckCi({ required, allow, checksOf, log }: CheckParts): CheckCi {
  return (image) => {
    const checks = checksOf(image);
    return Promise.all(
      required.map(async (kind) => {
        const { result, detail, url } = await findOut(checks[kind], log);
        const passes = result === "passed" || allow.includes(result);
        const about = { detail: cleanText(detail, detailLength), ...linkOf(url) };
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

/** Whoever cannot be asked says nothing about the image. */
async function findOut(check: () => Promise<Finding>, log: Log): Promise<Finding> {
  const late = new CiTrouble(`no answer within ${limitMs / 1_000} seconds`);
  try {
    return await unlessLate(check, { limitMs, late });
  } catch (error) {
    log.warn({ err: error }, "evidence of CI not read");
    const isForPeople = error instanceof CiTrouble || error instanceof ProblemError;
    const detail = isForPeople ? error.message : "an error of ours; the worker's log has it";
    return { result: "unavailable", detail };
  }
}
