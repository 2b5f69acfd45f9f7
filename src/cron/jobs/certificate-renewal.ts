/** Renews the certificate of the API's own names before it expires. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

/**
 * Checks the certificate, and gets a new one when it is due. Throws a `ProblemError` when the
 * authority refuses, and any other error for a failure that a retry may fix.
 */
export type RenewCertificate = () => Promise<{ isNew: boolean; expiresMs: number }>;

/** Hourly, so that a new name gets a certificate soon; not more often, since authorities limit failures. */
export function createCertificateRenewal(renew: RenewCertificate): Job {
  return {
    schedule: everyMinutes(60),
    runsAtOnce: true,
    retryForMs: 10 * 60_000,
    run: async ({ step }) => {
      const { isNew, expiresMs } = await step("renew-certificate", renew);
      const day = new Date(expiresMs).toISOString().slice(0, 10);
      return isNew ? `new certificate, good until ${day}` : `certificate good until ${day}`;
    },
  };
}
