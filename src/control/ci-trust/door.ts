/** The address at which a CI job exchanges its token. The front of `control` leaves it to this file. */
import type { Door } from "#control/short-answers.ts";
import type { SessionAnswer } from "#control/sign-in/contract.ts";
import { bearerOf } from "#control/token.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { CiJobs } from "./jobs.ts";

const ciSessionPath = "/ci/session";

/** `ciJobs` undefined: no row trusts any. */
export function createCiDoor(ciJobs: CiJobs | undefined): Door {
  return {
    isMine: (path) => path === ciSessionPath,
    plugin: async (app) => {
      app.post(ciSessionPath, async ({ headers, ip }): Promise<SessionAnswer> => {
        if (ciJobs === undefined) throw notConfigured();
        const token = bearerOf(headers.authorization);
        if (token === "") throw noToken();
        const { endsAtMs, roles, ...session } = await ciJobs.exchange(token, ip);
        return { ...session, roles: [...roles], ends_at: new Date(endsAtMs).toISOString() };
      });
    },
  };
}

function notConfigured(): ProblemError {
  const detail = "no CI job calls here without a secret: control.ci_trust has no rows";
  return new ProblemError({ status: 404, code: "ci_trust_off", detail });
}

function noToken(): ProblemError {
  const detail = 'send the token of the job as "Authorization: Bearer <token>"';
  return new ProblemError({ status: 401, code: "malformed_token", detail });
}
