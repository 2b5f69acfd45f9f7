/** Keeps the certificate of the API's own names from running out. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";
import { ProblemError } from "#kernel/problem.ts";

/** Looks at the certificate, and gets a new one when it is due. */
export type RenewCertificate = () => Promise<{ isNew: boolean; expiresMs: number }>;

/** Hourly, so that a name that is new, or an authority that was away, does not wait for long. */
export function createCertificateRenewal(renew: RenewCertificate): Job {
  return {
    schedule: everyMinutes(60),
    runsAtOnce: true,
    retryForMs: 1,
    run: async ({ step }) => {
      const { isNew, expiresMs } = await step("renew-certificate", () => once(renew));
      const day = new Date(expiresMs).toISOString().slice(0, 10);
      return isNew ? `new certificate, good until ${day}` : `certificate good until ${day}`;
    },
  };
}

/** Authorities count attempts that fail: none is repeated before the next hour. */
async function once(renew: RenewCertificate): ReturnType<RenewCertificate> {
  try {
    return await renew();
  } catch (error) {
    const detail = (error as Error).message;
    throw new ProblemError({ status: 502, code: "not_renewed", detail }, { cause: error });
  }
}
