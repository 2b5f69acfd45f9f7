/** Settings of signing in at an identity provider by OpenID Connect. */
import { z } from "zod";
import { baseUrl, findUrlFault, isLoopback } from "#kernel/address.ts";
import { refuseBy } from "#kernel/faults.ts";
import { Role } from "#kernel/roles.ts";
import { optionalText, secretText, textList, wholeNumber } from "#kernel/setting.ts";

/** Plain http only on this machine: over a network anybody could answer instead of the provider. */
const issuer = z.string().trim().superRefine(refuseBy(findIssuerFault)).default("");

const issuerUrl = baseUrl("https://login.example.com", "leave it out");

export function findIssuerFault(text: string): string | undefined {
  if (text === "") return undefined;
  const fault = findUrlFault(text, issuerUrl);
  const url = fault === undefined ? new URL(text) : undefined;
  if (url?.protocol === "https:" || isLoopback(url?.hostname ?? "")) return undefined;
  const wanted = "must be an https address (http only on this machine), without query and fragment";
  return `${wanted}: it ${fault ?? "begins with http://"}`;
}

/** Text in the environment, separated by commas. */
const roleList = z.preprocess(
  (value) => textList().safeParse(value).data ?? value,
  z.array(Role).max(20),
);

/** `admins=read,operate;night shift=approve` in the environment. */
function readRoleMap(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const parts = value.split(";").filter((part) => part.trim() !== "");
  return Object.fromEntries(
    parts.map((part) => {
      const end = part.lastIndexOf("=");
      return [part.slice(0, Math.max(end, 0)).trim(), part.slice(end + 1)];
    }),
  );
}

const claimName = (preset: string) => z.string().trim().min(1).max(200).default(preset);

/** The scopes of OpenID Connect Core 1.0, 5.4, that have the name and the e-mail address. */
const usualScopes = ["openid", "email", "profile"];

export const OidcSetting = z
  .strictObject({
    issuer: issuer.describe("The identity provider; empty: nobody signs in"),
    client_id: optionalText().describe("The client that is registered there"),
    client_secret: secretText().describe("Empty: a public client"),
    scopes: z
      .preprocess(
        (value) => (typeof value === "string" ? value.replaceAll(/\s+/g, ",") : value),
        textList()
          .transform((scopes) => (scopes.length === 0 ? usualScopes : scopes))
          .refine((scopes) => scopes.includes("openid"), { error: "must have openid" }),
      )
      .describe("What it is asked for"),
    name_claim: claimName("email").describe(
      "The claim with the name, or a path; an `email` has to be verified",
    ),
    roles_claim: claimName("groups").describe(
      "The claim with groups, or a path such as `realm_access.roles`",
    ),
    roles: z
      .preprocess(readRoleMap, z.record(z.string().min(1).max(256), roleList))
      .default({})
      .describe("What each group may do; as text `managers=operate;owners=configure`"),
    default_roles: roleList.default([]).describe("What others may do"),
    session_hours: wholeNumber({ min: 1, max: 24, default: 12 }).describe(
      "How long a session lasts",
    ),
  })
  .refine(({ issuer, client_id }) => (issuer === "") === (client_id === ""), {
    error: "needs both issuer and client_id, or neither",
  })
  .prefault({});

export type OidcSettings = z.infer<typeof OidcSetting>;
