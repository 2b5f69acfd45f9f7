/** What people, and the log, are told when a sign-in fails. */
import { expect, it } from "vitest";
import { describeFailure, expired, ProviderTrouble } from "#control/sign-in/refusals.ts";

const host = "login.example.com";

const bodyError = (error: string, error_description?: unknown) =>
  Object.assign(new Error("from the library"), {
    code: "OAUTH_RESPONSE_BODY_ERROR",
    error,
    error_description,
  });

const redirectError = (error: unknown, error_description?: unknown) =>
  Object.assign(new Error("from the library"), {
    code: "OAUTH_AUTHORIZATION_RESPONSE_ERROR",
    error,
    error_description,
  });

it.each([
  [new ProviderTrouble("it is too slow"), 503, /not possible now: it is too slow/],
  [new Error("x", { cause: new ProviderTrouble("it is away") }), 503, /it is away/],
  [new TypeError("bad metadata"), 503, /not usable \(bad metadata\)/],
  [bodyError("invalid_client"), 503, /not usable \(invalid_client\)/],
  [bodyError("invalid_grant"), 400, /Begin again/],
  [bodyError("expired_token"), 400, /expired/],
  [bodyError("access_denied"), 403, /have refused it/],
  [redirectError("access_denied", "ask your boss"), 403, /have refused it \(ask your boss\)/],
  [redirectError("login_required"), 403, /login_required/],
  [redirectError(7, { toString: "x" }), 403, /no error code/],
  ["no error at all", 503, /unknown/],
  [expired(), 400, /expired/],
])("a refusal puts %o into words, with %i", (error, status, words) => {
  const { problem } = describeFailure(error, host);

  expect(problem.status).toBe(status);
  expect(problem.message).toMatch(words);
});

it("a refusal says no more than a sentence of what the provider says, and nothing that controls a terminal", () => {
  const loud = `\u001b[2J<b>${"x".repeat(100_000)}`;

  const { problem, fault } = describeFailure(redirectError(loud, loud), host);

  expect(problem.message.length).toBeLessThan(400);
  expect(problem.message + fault).not.toContain("\u001b");
});

it("a refusal has nothing of an answer's body in what is logged", () => {
  const cause = { id_token: "the-secret-token" };

  const { problem, fault } = describeFailure(new Error("unexpected", { cause }), host);

  expect(problem.message + fault).not.toContain("the-secret-token");
});

it("a refusal has the message of the innermost error in the log, and nothing of what a parser has read", () => {
  const compared = new Error('unexpected JWT "iss" (issuer) claim value', { cause: { iss: "x" } });
  const parser = new SyntaxError('Unexpected token in "the-secret-token"');
  const unread = new Error("the answer is no JSON", { cause: parser });

  const faults = [compared, unread].map((cause) => {
    const { fault } = describeFailure(new Error("something went wrong", { cause }), host);
    return fault;
  });

  expect(faults).toEqual(['unexpected JWT "iss" (issuer) claim value', "the answer is no JSON"]);
});
