/** Fields that rows of several sections have. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { cronDialects } from "#kernel/cron-expression.ts";
import { text } from "#monitor/kinds/contract.ts";

const slug = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Also the deduplication key of alerts, and part of addresses: so it cannot be any text. */
export const Id = z
  .string()
  .max(100)
  .regex(slug, "has to be lower-case letters, digits and single hyphens, such as shop-checkout")
  .describe("Lower-case letters, digits and single hyphens. Under another id it is another row.");

export const Environment = z
  .enum(environments)
  .default("production")
  .describe("Which alert source and channel may be used.");

export const Channels = z
  .array(Id)
  .max(10)
  .default([])
  .describe(
    "Ids of channels that are notified. None: the failure is shown, and nobody is notified.",
  );

export const Name = text(200).optional().describe("As people see it. Default: the id.");

export const CronDialect = z
  .enum(cronDialects)
  .optional()
  .describe("Whose rules cron follows: those of Debian's cron, the default, or of a CronJob.");

export const DependsOn = z
  .array(Id)
  .max(10)
  .default([])
  .describe("Ids of checks and heartbeats: while one of them fails, a failure here alerts nobody.");
