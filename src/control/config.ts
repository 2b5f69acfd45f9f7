import { createHash } from "node:crypto";
import { z } from "zod";
import { Role, roles } from "#kernel/roles.ts";
import { networkList, optionalText, optionalUrl, port, textList } from "#kernel/setting.ts";
import { OperatorName } from "./contract.ts";

/** The settings have the hash, never the token: `printf %s "$TOKEN" | sha256sum` makes it. */
const tokenHash = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^(?:sha256:)?[0-9a-f]{64}$/, { error: "must be the SHA-256 of a token: 64 hex digits" })
  .transform((hash) => hash.replace(/^sha256:/, ""));

/** Text in the environment, separated by commas. */
const roleList = z
  .preprocess((value) => textList().safeParse(value).data ?? value, z.array(Role).min(1))
  .default([...roles]);

/** The hash alone: the operator may do everything. */
const OperatorSetting = z.preprocess(
  (value) => (typeof value === "string" ? { token: value } : value),
  z.strictObject({ token: tokenHash, roles: roleList }),
);
export type Operator = { token: string; roles: readonly Role[] };

type Tokens = { ingress_token: string; operators: Readonly<Record<string, Operator>> };

/** With one token two names would be one caller, and whose it is would depend on their order. */
function requireOwnTokens({ ingress_token, operators }: Tokens, context: z.RefinementCtx): void {
  const known = new Set([createHash("sha256").update(ingress_token).digest("hex")]);
  for (const [name, { token }] of Object.entries(operators)) {
    if (known.has(token)) {
      const message =
        "is the token of another operator, or the ingress token: each has one of its own";
      context.addIssue({ code: "custom", path: ["operators", name], message });
    }
    known.add(token);
  }
}

export const controlConfig = {
  control: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port(7071),
      /** Empty: generated on the first start and stored in `<data_dir>/credentials.json`. */
      ingress_token: optionalText(),
      /** Operators with a token of their own, and what each may do: history records who did what. */
      operators: z.record(OperatorName, OperatorSetting).default({}),
      /** The address that browsers use when there is a proxy in front of us; with https the cookie is Secure. */
      public_url: optionalUrl(),
      /** Proxies (addresses or CIDR) whose X-Forwarded-For is trusted: limits and logs use it. */
      trusted_proxies: networkList(),
    })
    .superRefine(requireOwnTokens)
    .prefault({}),
};
