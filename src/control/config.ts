import { createHash } from "node:crypto";
import { z } from "zod";
import { Role, roles } from "#kernel/roles.ts";
import { networkList, optionalUrl, port, secretText, textList } from "#kernel/setting.ts";
import { CiTrustSetting, requireOwnRows } from "./ci-trust-config.ts";
import { lowerCaseName, OperatorName } from "./contract.ts";
import { OidcSetting } from "./oidc-config.ts";

const ofNothing = createHash("sha256").digest("hex");

/** The settings have the hash, never the token: `printf %s "$TOKEN" | sha256sum` makes it. */
const tokenHash = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^(?:sha256:)?[0-9a-f]{64}$/, { error: "must be the SHA-256 of a token: 64 hex digits" })
  .transform((hash) => hash.replace(/^sha256:/, ""))
  .refine((hash) => hash !== ofNothing, {
    error: "is the SHA-256 of an empty token, such as of a variable that is not set: make it again",
  });

/** Text in the environment, separated by commas. */
const roleList = z
  .preprocess((value) => textList().safeParse(value).data ?? value, z.array(Role).min(1))
  .default([...roles]);

/** The hash alone: the operator may do everything. */
const OperatorSetting = z.preprocess(
  (value) => (typeof value === "string" ? { token: value } : value),
  z
    .strictObject({
      token: tokenHash.optional(),
      roles: roleList,
      /** The name that the identity provider has for this operator, who signs in there. */
      sign_in: z.string().trim().min(1).max(320).optional(),
    })
    .refine(({ token, sign_in }) => token !== undefined || sign_in !== undefined, {
      error: "needs a token, or sign_in",
    }),
);
/** Absent `token`: the operator has none; absent `sign_in`: the operator does not sign in at the provider. */
export type Operator = {
  token?: string | undefined;
  roles: readonly Role[];
  sign_in?: string | undefined;
};

type Operators = Readonly<Record<string, Operator>>;
type Tokens = { ingress_token: string; operators: Operators };

/** Refuses a shared token: two names would be one caller, and whose it is would depend on their order. */
function requireOwnTokens({ ingress_token, operators }: Tokens, context: z.RefinementCtx): void {
  const ofIngress = createHash("sha256").update(ingress_token).digest("hex");
  const known = new Set([ofIngress]);
  for (const [name, { token }] of Object.entries(operators)) {
    if (token === undefined) continue;
    if (known.has(token)) {
      const ingress = "the ingress token (INGRESS_TOKEN of the environment, else of the settings)";
      const whose = token === ofIngress ? ingress : "the token of another operator";
      const message = `is ${whose}: each has one of its own`;
      context.addIssue({ code: "custom", path: ["operators", name], message });
    }
    known.add(token);
  }
}

type SignIns = { operators: Operators; oidc: { issuer: string; name_claim: string } };

/** Somebody with two names could approve their own rollout. */
function requireOwnSignIns({ operators, oidc }: SignIns, context: z.RefinementCtx): void {
  const known = new Set(Object.keys(operators));
  for (const [name, { token, sign_in }] of Object.entries(operators)) {
    if (sign_in === undefined) continue;
    const complain = (message: string) =>
      context.addIssue({ code: "custom", path: ["operators", name, "sign_in"], message });
    const signIn = lowerCaseName(sign_in, oidc.name_claim);
    if (signIn !== name && known.has(signIn)) complain("is another operator, or theirs");
    if (oidc.issuer === "" && token === undefined) complain("needs control.oidc.issuer");
    known.add(signIn);
  }
}

export const controlConfig = {
  control: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").describe("Where gateway and console listen"),
      port: port(7071).describe("Their port"),
      ingress_token: secretText().describe(
        "The token of callers; empty: generated, in `<data_dir>/credentials.json`",
      ),
      operators: z
        .record(OperatorName, OperatorSetting)
        .default({})
        .describe(
          'Operators by name: `{ token = "<SHA-256>", roles = […], sign_in = "…" }` ([more](operators.md))',
        ),
      ci_trust: CiTrustSetting,
      /** Signing in at an identity provider, by OpenID Connect. */
      oidc: OidcSetting,
      public_url: optionalUrl().describe(
        "The address for browsers behind a proxy; with https the cookie is Secure",
      ),
      trusted_proxies: networkList().describe(
        "Proxies (addresses, CIDR) whose `X-Forwarded-For` is believed",
      ),
    })
    .superRefine(requireOwnTokens)
    .superRefine(requireOwnSignIns)
    .superRefine(requireOwnRows)
    .prefault({}),
};
