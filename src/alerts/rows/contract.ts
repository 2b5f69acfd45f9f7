/** Alert channels: where events of checks go, as the definitions have them. Secrets are `{{NAME}}` of one. */
import { z } from "zod";
import { fillPlaceholders, findUrlFault, httpSchemes } from "#kernel/address.ts";
import { readCertificates } from "#kernel/crypto.ts";
import { refuseBy } from "#kernel/faults.ts";
import { isClean } from "#kernel/text.ts";

/** The whole value is the name of a secret, whose value is read at every delivery. */
const secret = (what: string) =>
  z
    .string()
    .regex(
      /^\{\{[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\}\}$/,
      "has to be {{NAME}} of a secret: its value is not in the definitions",
    )
    .describe(what);

/** An address, which may have `{{NAME}}` of a secret, or be one. */
const address = (schemes: readonly string[], example: string) =>
  z
    .string()
    .max(2_000)
    .superRefine(
      refuseBy((given) => {
        if (/^(?:\{\{[^{}]*\}\})+$/.test(given)) return undefined;
        const insteadOfUser = "name it as {{NAME}} of a secret";
        return findUrlFault(fillPlaceholders(given), { schemes, example, insteadOfUser });
      }),
    );

const httpAddress = (example: string) => address(httpSchemes, example);

const timeoutSeconds = z
  .int()
  .min(1)
  .max(60)
  .optional()
  .describe("The time limit of one attempt. Default: the setting alerts.attempt_timeout_seconds.");

/** Slack's incoming webhook. Its address is the secret. */
const SlackFields = {
  kind: z.literal("slack"),
  url: httpAddress("{{SLACK_WEBHOOK_URL}}").refine(
    (given) => !given.startsWith("https://hooks.slack.com"),
    "is a secret: name it as {{NAME}}",
  ),
  mention: z
    .string()
    .regex(
      /^<(?:![a-z]+(?:\^[A-Z0-9]+)?|@[A-Z0-9]+)>$/,
      "has to be such as <!here> or <@U024BE7LH>",
    )
    .optional()
    .describe("Whom failures mention."),
  timeoutSeconds,
};

/** A webhook of any receiver, signed as Standard Webhooks has it. */
const WebhookFields = {
  kind: z.literal("webhook"),
  url: httpAddress("https://alerts.example.com/vedette"),
  secret: secret(
    "{{NAME}} of the signing secret, `whsec_` and base64; during a rotation the new and the old one, " +
      "with a space between. Without it requests are not signed.",
  ).optional(),
  timeoutSeconds,
};

const mailbox = z
  .string()
  .max(320)
  .regex(/^[^\s@<>",;:\\]+@[^\s@<>",;:\\]+$/, "has to be an address such as ops@example.com");

const EmailFields = {
  kind: z.literal("email"),
  url: address(["smtp", "smtps"], "smtp://mail.example.com:587").describe(
    "The mail server: smtps:// with TLS, smtp:// with STARTTLS.",
  ),
  tls: z
    .enum(["required", "optional"])
    .default("required")
    .describe("optional: a server of smtp:// may be without STARTTLS. Loopback always may."),
  user: z
    .string()
    .min(1)
    .max(320)
    .refine((given) => isClean(given, 320), "has control characters")
    .optional()
    .describe("The user at the mail server. Default: none."),
  secret: secret("{{NAME}} of the user's password.").optional(),
  from: mailbox.describe("The sender."),
  to: z.array(mailbox).min(1).max(50).describe("The recipients; each gets a message of its own."),
  timeoutSeconds,
};

const severities = ["critical", "error", "warning", "info"] as const;

const PagerDutyFields = {
  kind: z.literal("pagerduty"),
  url: httpAddress("https://events.eu.pagerduty.com/v2/enqueue")
    .default("https://events.pagerduty.com/v2/enqueue")
    .describe("The address of the Events API v2. Accounts in Europe have another one."),
  secret: secret("{{NAME}} of the integration key (routing key)."),
  severity: z
    .enum(severities)
    .optional()
    .describe("Of failures. Default: critical in production, else warning."),
  timeoutSeconds,
};

function areCertificates(pem: string): boolean {
  try {
    return readCertificates(pem).length > 0;
  } catch {
    return false;
  }
}

const SyslogFields = {
  kind: z.literal("syslog"),
  url: address(["tls", "tcp"], "tls://logs.example.com:6514").describe(
    "The receiver: tls://host:port, or tcp://host:port, which encrypts nothing. Default port: 6514.",
  ),
  ca: z
    .string()
    .max(50_000)
    .refine(areCertificates, "has to be certificates in PEM")
    .optional()
    .describe("Certificates of the authorities of a tls:// receiver. Default: those of Node."),
  secret: secret(
    "{{NAME}} of our own certificate and its key, both in PEM, for a receiver that asks for it.",
  ).optional(),
  timeoutSeconds,
};

/** The fields of each kind of channel but the incident service, beside the id. */
export const channelFields = {
  slack: SlackFields,
  webhook: WebhookFields,
  email: EmailFields,
  pagerduty: PagerDutyFields,
  syslog: SyslogFields,
} as const;

const id = z.string();

/** A channel that events are sent to directly. */
export const DirectChannel = z.discriminatedUnion("kind", [
  z.object({ id, ...SlackFields }),
  z.object({ id, ...WebhookFields }),
  z.object({ id, ...EmailFields }),
  z.object({ id, ...PagerDutyFields }),
  z.object({ id, ...SyslogFields }),
]);
export type DirectChannel = z.output<typeof DirectChannel>;
export type ChannelOf<Kind extends DirectChannel["kind"]> = Extract<DirectChannel, { kind: Kind }>;
