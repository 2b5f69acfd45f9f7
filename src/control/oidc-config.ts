/** Settings of signing in at an identity provider by OpenID Connect. */
import { z } from "zod";
import { isLoopback } from "#kernel/address.ts";
import { refuseBy } from "#kernel/faults.ts";
import { Role } from "#kernel/roles.ts";
import { optionalText, secretText, textList, wholeNumber } from "#kernel/setting.ts";
import { baseUrl, findUrlFault } from "#kernel/url-fault.ts";

/** Plain http only on this machine: over a network anybody could answer instead of the provider. */
const issuer = z.string().trim().superRefine(refuseBy(findIssuerFault)).default("");

const issuerUrl = baseUrl("https://login.example.com", "leave it out");

function findIssuerFault(text: string): string | undefined {
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
    /** Empty: nobody signs in at a provider. */
    issuer,
    client_id: optionalText(),
    /** Empty: a public client, which the provider knows by its redirect address alone. */
    client_secret: secretText(),
    scopes: z.preprocess(
      (value) => (typeof value === "string" ? value.replaceAll(/\s+/g, ",") : value),
      textList()
        .transform((scopes) => (scopes.length === 0 ? usualScopes : scopes))
        .refine((scopes) => scopes.includes("openid"), { error: "must have openid" }),
    ),
    /** The claim with the person's name; an `email` counts only if the provider has verified it. */
    name_claim: claimName("email"),
    /** The claim with the person's groups or roles, also by a path: `realm_access.roles`. */
    roles_claim: claimName("groups"),
    /** Roles by value of that claim. */
    roles: z.preprocess(readRoleMap, z.record(z.string().min(1).max(256), roleList)).default({}),
    /** Roles of people to whom no value gives a role. */
    default_roles: roleList.default([]),
    /** Length of a session. */
    session_hours: wholeNumber({ min: 1, max: 24, default: 12 }),
  })
  .refine(({ issuer, client_id }) => (issuer === "") === (client_id === ""), {
    error: "needs both issuer and client_id, or neither",
  })
  .prefault({});

export type OidcSettings = z.infer<typeof OidcSetting>;
