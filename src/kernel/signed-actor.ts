/**
 * The name and the accounts of a caller on their way through Restate. Any client that reaches Restate's own ingress can
 * send any header, so the gateway signs them, and a signature is valid for one request only.
 */
import { createHash, createHmac } from "node:crypto";
import { isSameSecret } from "./same-secret.ts";

export const actorHeader = "x-vedette-actor";
/** Separated by spaces; absent: none is known. */
export const accountsHeader = "x-vedette-accounts";
const actorProofHeader = "x-vedette-actor-proof";

export type SignedRequest = {
  /** `service/key/handler` as Restate names it, without `/send`. */
  target: string;
  body: Uint8Array | string;
  accounts?: readonly string[] | undefined;
};

/** The headers from which the worker learns who called. */
export function signActor(
  actor: string,
  request: SignedRequest,
  key: Uint8Array,
): Record<string, string> {
  const accounts = (request.accounts ?? []).join(" ");
  return {
    [actorHeader]: actor,
    ...(accounts !== "" && { [accountsHeader]: accounts }),
    [actorProofHeader]: proofOf([actor, accounts], request, key),
  };
}

/** True if these headers have a name and the gateway's valid signature of it for this request. */
export function isSigned(
  headers: ReadonlyMap<string, string>,
  request: SignedRequest,
  key: Uint8Array,
): boolean {
  const actor = headers.get(actorHeader);
  if (actor === undefined) return false;
  const proof = proofOf([actor, headers.get(accountsHeader) ?? ""], request, key);
  return isSameSecret(headers.get(actorProofHeader) ?? "", proof);
}

/** The target of a path at the ingress; undefined for one that cannot be decoded. */
export function targetOfPath(path: string): string | undefined {
  const segments = path.replace(/^\/(?:restate\/(?:call|send)\/)?/, "").split("/");
  if (segments.at(-1) === "send") segments.pop();
  try {
    return segments.map(decodeURIComponent).join("/");
  } catch {
    return undefined;
  }
}

function proofOf(who: string[], request: SignedRequest, key: Uint8Array): string {
  const body = createHash("sha256").update(request.body).digest("hex");
  const fields = [...who, request.target, body];
  return createHmac("sha256", key).update(JSON.stringify(fields)).digest("base64url");
}
