/** The messages between the command line and `control` when somebody signs in. */
import { z } from "zod";
import { Role } from "#kernel/roles.ts";

/** Below it are the addresses for the command line. */
export const signInPath = "/sign-in";

/** 32 bytes of randomness, which stay with the command line until it finishes its sign-in. */
const Verifier = z.string().regex(/^[\w-]{43}$/, { error: "must be 32 bytes in base64url" });

/** The SHA-256 of the verifier, in base64url, as in RFC 7636. */
const Challenge = z.string().regex(/^[\w-]{43}$/, { error: "must be a SHA-256 in base64url" });

/** Sealed by `control`, of no meaning to the command line. */
const SealedFlow = z.string().min(1).max(8_192);

export const BeginRequest = z.strictObject({
  redirect_uri: z.string().max(200),
  challenge: Challenge,
});

export const BeginAnswer = z.object({
  provider: z.string(),
  authorization_url: z.url({ protocol: /^https?$/ }).max(8_192),
  /** Identifies the provider's answer to this sign-in. */
  state: z.string(),
  flow: SealedFlow,
  expires_in: z.number(),
});

export type BeginAnswer = z.infer<typeof BeginAnswer>;

export const FinishRequest = z.strictObject({
  flow: SealedFlow,
  verifier: Verifier,
  /** The parameters that the provider has added to the redirect address. */
  query: z.string().max(8_192),
});

export const DeviceRequest = z.strictObject({ challenge: Challenge });

/** Within bounds whatever a server answers: a wait of nothing would ask it without a pause. */
const interval = z.number().transform((seconds) => Math.min(Math.max(seconds, 1), 60));

export const DeviceAnswer = z.object({
  provider: z.string(),
  user_code: z.string(),
  verification_uri: z.url({ protocol: /^https?$/ }),
  /** The same with the code in it; null: there is none. */
  complete_uri: z.url({ protocol: /^https?$/ }).nullable(),
  flow: SealedFlow,
  interval,
  expires_in: z.number(),
});

export type DeviceAnswer = z.infer<typeof DeviceAnswer>;

export const PollRequest = z.strictObject({ flow: SealedFlow, verifier: Verifier });

export const SessionAnswer = z.object({
  token: z.string().min(1),
  actor: z.string(),
  roles: z.array(Role),
  ends_at: z.string(),
});
export type SessionAnswer = z.infer<typeof SessionAnswer>;

/** null: the person has not answered yet; `interval`: after how many seconds to ask again. */
export const PollAnswer = z.object({ signed_in: SessionAnswer.nullable(), interval });

/** The person of a token or a session. */
export const WhoAmI = z.object({
  actor: z.string(),
  roles: z.array(Role),
  /** The caller has a session of a sign-in or of a CI job, or a token. */
  by: z.enum(["sign-in", "ci", "token"]),
  /** null: a token has no end. */
  ends_at: z.string().nullable(),
});
