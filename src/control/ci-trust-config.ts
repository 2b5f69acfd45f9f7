/** The setting `control.ci_trust`: which jobs of which CI may call, by the tokens that their CI signs for them. */
import { z } from "zod";
import { parseJsonText } from "#kernel/body.ts";
import { refuseBy } from "#kernel/faults.ts";
import { Role } from "#kernel/roles.ts";
import { textList } from "#kernel/setting.ts";
import { findIssuerFault } from "./oidc-config.ts";

/** The issuers of tokens, by the words in which each writes its claims. `other`: a row names issuer and claims itself. */
const presetIssuers = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.com",
  other: "",
} as const;

export type PresetName = keyof typeof presetIssuers;

/** After `ci:` it is the caller's name in history and in `fleet.operators`. */
const TrustName = z.string().regex(/^[a-z0-9][a-z0-9._:/@-]{0,99}$/, {
  error: "must be lower case, such as github:acme/shop, of 100 characters at most",
});

/** `main` is the branch. Only the last sign may be a `*`, for tags such as `refs/tags/v*`. */
const Ref = z
  .string()
  .trim()
  .transform((ref) => (ref.startsWith("refs/") ? ref : `refs/heads/${ref}`))
  .refine((ref) => /^refs\/(?:heads|tags)\/[^*\s]+\*?$/.test(ref), {
    error: "must be a branch or a tag, such as refs/heads/main or refs/tags/v*",
  });

const claimText = (most = 500) => z.string().trim().min(1).max(most);

/** Digits, or as other servers write it. A number in TOML. */
const RepositoryId = z.preprocess(
  (value) => (typeof value === "number" ? String(value) : value),
  claimText(100).regex(/^[\w-]+$/, { error: "must be the id of the repository, not its name" }),
);

const roleList = z
  .preprocess((value) => textList().safeParse(value).data ?? value, z.array(Role).min(1))
  .default(["operate"]);

const Row = z.strictObject({
  name: TrustName,
  preset: z.enum(["github", "gitlab", "other"]).default("github"),
  issuer: z.string().trim().min(1).superRefine(refuseBy(findIssuerFault)).optional(),
  audience: claimText().optional(),
  repository_id: RepositoryId.optional(),
  workflow: claimText().optional(),
  ref: Ref.optional(),
  environment: claimText().optional(),
  events: textList().removeDefault().optional(),
  claims: z.record(claimText(100), claimText()).default({}),
  roles: roleList,
});

type Row = z.infer<typeof Row>;

/** A row that a token can be compared with: the preset has given what was left out. */
export const TrustRow = Row.superRefine(requireBounds).transform((row) => ({
  ...row,
  issuer: row.issuer ?? presetIssuers[row.preset],
}));

/** `audience` absent: `control.public_url`. */
export type TrustRow = z.infer<typeof TrustRow>;

/** Refuses a row that would let in jobs of everybody, or of any branch. */
function requireBounds(row: Row, context: z.RefinementCtx): void {
  const faults = row.preset === "other" ? faultsOfOther(row) : faultsOfPreset(row);
  for (const [field, message] of faults) {
    if (message !== undefined) context.addIssue({ code: "custom", path: [field], message });
  }
}

type Fault = readonly [field: keyof Row, message: string | undefined];

function faultsOfOther(row: Row): Fault[] {
  const ofPresets = ["repository_id", "workflow", "ref", "environment", "events"] as const;
  const isOpen = Object.keys(row.claims).length === 0;
  return [
    ...ofPresets
      .filter((field) => row[field] !== undefined)
      .map((field): Fault => [field, "is of a preset: write it in claims"]),
    ["issuer", row.issuer === undefined ? "is missing: expected an address" : undefined],
    ["claims", isOpen ? "must say more: anybody gets a token there" : undefined],
  ];
}

function faultsOfPreset(row: Row): Fault[] {
  const isAnyBranch = (row.ref ?? row.environment) === undefined;
  const anyBranch = "is missing: without it and environment, any branch would count";
  return [
    ["repository_id", row.repository_id === undefined ? "is missing: expected an id" : undefined],
    ["ref", isAnyBranch ? anyBranch : undefined],
    ["audience", findAudienceFault(row)],
  ];
}

/** The audience that a CI takes by itself is in the tokens for other receivers, too: each of them could call here. */
function findAudienceFault({ audience, issuer }: Row): string | undefined {
  const host = URL.parse(audience ?? "")?.hostname;
  const isTheirs =
    host !== undefined &&
    ["github.com", "gitlab.com", URL.parse(issuer ?? "")?.hostname].includes(host);
  const isLocal = host === "127.0.0.1" || host === "localhost";
  return isTheirs && !isLocal
    ? "is what the CI takes by itself: use one of your own, such as the address of control"
    : undefined;
}

/** As text in the environment, JSON. */
export const CiTrustSetting = z
  .preprocess(
    (value) => (typeof value === "string" ? (parseJsonText(value || "[]") ?? value) : value),
    z.array(TrustRow),
  )
  .default([])
  .describe("CI jobs that call without a secret ([ci.md](ci.md))");

type Rows = { ci_trust: readonly TrustRow[]; public_url: string };

/** Refuses two rows of one name, and one without an audience. */
export function requireOwnRows({ ci_trust, public_url }: Rows, context: z.RefinementCtx): void {
  const names = ci_trust.map(({ name }) => name);
  for (const [at, { name, audience }] of ci_trust.entries()) {
    const complain = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: ["ci_trust", at, field], message });
    if (names.indexOf(name) !== at) complain("name", "is another row's");
    if ((audience ?? public_url) === "") {
      complain("audience", "is missing, and so is control.public_url, which it would be");
    }
  }
}
