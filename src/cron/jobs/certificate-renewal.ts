/** Keeps the certificate of the API's own names from running out. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

/**
 * Looks at the certificate, and gets a new one when it is due. Throws a `ProblemError` when the
 * authority refuses, and anything else for what may go better in a moment.
 */
export type RenewCertificate = () => Promise<{ isNew: boolean; expiresMs: number }>;

/** Hourly, so that a name that is new does not wait for long; authorities count what they refuse. */
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
