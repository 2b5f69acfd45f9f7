/** Why a sign-in does not succeed, in words for the person who tries. */
import { ProblemError } from "#kernel/problem.ts";
import { cleanText } from "#kernel/text.ts";
import type { ClaimRefusal } from "./claims.ts";

type SignInCode =
  | "sign_in_refused"
  | "sign_in_expired"
  | "sign_in_unavailable"
  | "too_many_attempts"
  | "forbidden";

function signInProblem(status: number, code: SignInCode, detail: string): ProblemError {
  return new ProblemError({ status, code, detail });
}

export function refuseClaims({ detail }: ClaimRefusal): ProblemError {
  return signInProblem(403, "forbidden", detail);
}

export function expired(): ProblemError {
  const detail = "This sign-in has expired, or was completed already. Begin again.";
  return signInProblem(400, "sign_in_expired", detail);
}

export function foreignState(): ProblemError {
  const detail =
    "This answer belongs to another sign-in than the one begun last here. Begin again.";
  return signInProblem(400, "sign_in_refused", detail);
}

export function tooMany(): ProblemError {
  const detail = "Too many sign-ins from your address. Wait a minute.";
  return signInProblem(429, "too_many_attempts", detail);
}

/** Whose name it is has to be known, and remembered, before somebody has it. */
export function namesAway(): ProblemError {
  const detail =
    "Signing in is not possible now: Postgres, which has the names of those who sign in, does not answer. " +
    "Sessions and tokens go on working.";
  return signInProblem(503, "sign_in_unavailable", detail);
}

/** The identity provider did not answer in time, or not as it should. */
export class ProviderTrouble extends Error {}

/** An objection of the provider, or of the library. `fault` is for the log: no part of an answer, which may have tokens. */
export function describeFailure(
  error: unknown,
  host: string,
): { problem: ProblemError; fault: string } {
  if (error instanceof ProblemError) return { problem: error, fault: error.code };
  const trouble = findTrouble(error);
  if (trouble !== undefined) return { problem: unavailable(host, trouble), fault: trouble };
  const { code, error: word, error_description: words } = error as ProviderError;
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") {
    return { problem: refusedThere(host, { word, words }), fault: said(word) };
  }
  if (word === "invalid_grant") return { problem: usedCode(), fault: said(word) };
  if (word === "access_denied") return { problem: refusedThere(host, { word }), fault: said(word) };
  if (word === "expired_token") return { problem: expired(), fault: said(word) };
  const fault = word === undefined ? wordsOf(error) : said(word);
  return { problem: unavailable(host, `its answer is not usable (${fault})`), fault };
}

type ProviderError = { code?: unknown; error?: unknown; error_description?: unknown };

/** The library wraps errors of requests. */
export function findTrouble(error: unknown, depth = 0): string | undefined {
  if (error instanceof ProviderTrouble) return error.message;
  if (!(error instanceof Error) || depth > 4) return undefined;
  return findTrouble(error.cause, depth + 1);
}

/** The innermost message, which says what was compared; never a parser's, nor a cause that is no error. */
function wordsOf(error: unknown): string {
  let words = "unknown";
  let inner = error;
  for (let depth = 0; depth < 5; depth += 1) {
    if (!(inner instanceof Error) || inner instanceof SyntaxError) break;
    words = inner.message;
    inner = inner.cause;
  }
  return cleanText(words, 200);
}

function said(word: unknown): string {
  return typeof word === "string" ? cleanText(word, 60) : "no error code";
}

function refusedThere(
  host: string,
  { word, words }: { word: unknown; words?: unknown },
): ProblemError {
  const reason = word === "access_denied" ? "you, or the provider, have refused it" : said(word);
  const more = typeof words === "string" && words !== "" ? ` (${cleanText(words, 200)})` : "";
  return signInProblem(403, "sign_in_refused", `${host} did not sign you in: ${reason}${more}.`);
}

function usedCode(): ProblemError {
  const detail =
    "The identity provider does not take this answer again, or no longer. Begin again.";
  return signInProblem(400, "sign_in_expired", detail);
}

function unavailable(host: string, why: string): ProblemError {
  const detail = `Signing in at ${host} is not possible now: ${why}. Sessions and tokens go on working.`;
  return signInProblem(503, "sign_in_unavailable", detail);
}
