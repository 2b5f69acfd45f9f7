/**
 * The name of a caller on its way through Restate. Any client that reaches Restate's own ingress can send
 * any header, so the gateway signs the name, and a signature is valid for one request only.
 */
import { createHash, createHmac } from "node:crypto";
import { isSameSecret } from "./same-secret.ts";

export const actorHeader = "x-vedette-actor";
const actorProofHeader = "x-vedette-actor-proof";

export type SignedRequest = {
  /** `service/key/handler` as Restate names it, without `/send`. */
  target: string;
  body: Uint8Array | string;
};

/** The headers from which the worker learns who called. */
export function signActor(
  actor: string,
  request: SignedRequest,
  key: Uint8Array,
): Record<string, string> {
  return { [actorHeader]: actor, [actorProofHeader]: proofOf(actor, request, key) };
}

/** Whether these headers have a name and the gateway's valid signature of it for this request. */
export function isSigned(
  headers: ReadonlyMap<string, string>,
  request: SignedRequest,
  key: Uint8Array,
): boolean {
  const actor = headers.get(actorHeader);
  if (actor === undefined) return false;
  return isSameSecret(headers.get(actorProofHeader) ?? "", proofOf(actor, request, key));
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

function proofOf(actor: string, request: SignedRequest, key: Uint8Array): string {
  const body = createHash("sha256").update(request.body).digest("hex");
  const fields = [actor, request.target, body];
  return createHmac("sha256", key).update(JSON.stringify(fields)).digest("base64url");
}
