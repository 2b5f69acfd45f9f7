/** Grades a mail server's answers for one recipient, and for all of an event's recipients together. */
import { z } from "zod";
import type { Outcome } from "#alerts/outcome.ts";

/** The outcome of one recipient's mail. `cause` has codes only: a server's words may quote anything. */
export type MailOutcome =
  | { kind: "taken" }
  | { kind: "refused"; cause: string }
  | { kind: "retry"; cause: string; isChannelFault?: true };

const MailError = z.object({
  code: z.string().optional().catch(undefined),
  originalCode: z.string().optional().catch(undefined),
  responseCode: z.int().optional().catch(undefined),
  response: z.string().optional().catch(undefined),
  command: z.string().optional().catch(undefined),
});
type MailError = z.infer<typeof MailError>;

/** Without credentials or with wrong ones; 454 and the like are passing faults. */
const credentialCodes = new Set([530, 534, 535, 538]);
/** The session is out of step: a new connection helps. */
const outOfStep = 503;
/** Only of these commands is a refusal about the recipient or the mail. */
const ofMail = new Set(["RCPT TO", "DATA"]);

/** Only the server's code decides: nodemailer's own is the same for passing and for lasting faults. */
export function gradeMailError(error: unknown): MailOutcome {
  const { data = {} } = MailError.safeParse(error);
  const { responseCode: code, command } = data;
  if (code === undefined) {
    const isFault = data.code === "EAUTH";
    const cause = `not sent: ${data.originalCode ?? data.code ?? "unknown error"}`;
    return { kind: "retry", cause, ...(isFault && { isChannelFault: true as const }) };
  }
  const cause = describe(data);
  const isLasting = code >= 500 && code !== outOfStep;
  if (!isLasting) return { kind: "retry", cause };
  if (ofMail.has(command ?? "") && !credentialCodes.has(code)) return { kind: "refused", cause };
  return { kind: "retry", cause, isChannelFault: true };
}

/** `status 550 5.1.1 of RCPT TO` */
function describe({ responseCode, response = "", command }: MailError): string {
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  const codes = enhanced === undefined ? "" : ` ${enhanced}`;
  return `status ${responseCode}${codes}${isCommand(command) ? ` of ${command}` : ""}`;
}

function isCommand(command: string | undefined): boolean {
  return command !== undefined && /^[A-Z][A-Z0-9 -]{1,30}$/.test(command);
}

/**
 * One outcome of all recipients, in the order of the channel's row. While `isPatient`, an event is retried
 * for those whom it has not reached although others have it.
 */
export function combineOutcomes(fates: readonly MailOutcome[], isPatient: boolean): Outcome {
  const open = fates.filter((fate) => fate.kind === "retry");
  const isSomeTaken = fates.some(({ kind }) => kind === "taken");
  const words = fates.flatMap((fate, i) => wordsOf(fate, { at: i + 1, count: fates.length }));
  const cause = words.slice(0, mostNamed).join("; ");
  const [first] = open;
  if (first !== undefined && (!isSomeTaken || isPatient)) {
    const isFault = !isSomeTaken && open.some(({ isChannelFault }) => isChannelFault);
    return { kind: "retry", cause, ...(isFault && { isChannelFault: true as const }) };
  }
  if (!isSomeTaken) return { kind: "refused", cause };
  return { kind: "accepted", ...(cause !== "" && { remark: cause }) };
}

const mostNamed = 5;

/** Recipients are counted, not named: a cause is logged. */
function wordsOf(fate: MailOutcome, { at, count }: { at: number; count: number }): string[] {
  if (fate.kind === "taken") return [];
  const refused = fate.kind === "refused" ? "refused: " : "";
  return [`${count === 1 ? "" : `recipient ${at} of ${count} `}${refused}${fate.cause}`];
}
