/** Signs the names of callers for their way through Restate, and checks the signatures. */
import { createHash, createHmac } from "node:crypto";
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { parseJsonText } from "./body.ts";
import { CiRun } from "./roles.ts";
import { isSameSecret } from "./same-secret.ts";

// The name and the accounts of a caller on their way through Restate. Any client that reaches Restate's own ingress can
// send any header, so the gateway signs them, and a signature is valid for one request only.

const actorHeader = "x-vedette-actor";
/** Separated by spaces; absent: none is known. */
const accountsHeader = "x-vedette-accounts";
/** JSON in base64url; absent: the caller is no job of CI. */
const runHeader = "x-vedette-ci-run";
const actorProofHeader = "x-vedette-actor-proof";

type SignedRequest = {
  /** `service/key/handler` as Restate names it, without `/send`. */
  target: string;
  body: Uint8Array | string;
  accounts?: readonly string[] | undefined;
  ciRun?: CiRun | undefined;
};

/** The headers from which the worker learns who called; none: nobody has. */
export function signActor(
  actor: string | undefined,
  request: SignedRequest,
  key: Uint8Array,
): Record<string, string> {
  if (actor === undefined) return {};
  const accounts = (request.accounts ?? []).join(" ");
  const { ciRun } = request;
  const run = ciRun === undefined ? "" : Buffer.from(JSON.stringify(ciRun)).toString("base64url");
  return {
    [actorHeader]: actor,
    ...(accounts !== "" && { [accountsHeader]: accounts }),
    ...(run !== "" && { [runHeader]: run }),
    [actorProofHeader]: proofOf([actor, accounts, run], request, key),
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
  const [accounts = "", run = ""] = [headers.get(accountsHeader), headers.get(runHeader)];
  const proof = proofOf([actor, accounts, run], request, key);
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

export type Actor = {
  /** The name that the caller gave; trusted only if `isSigned`. */
  by: string;
  isSigned?: true;
  /** Accounts of a signed caller, as `Caller` has them. */
  accounts?: string[];
  /** The job of a signed caller that is one. */
  ciRun?: CiRun;
};

export type ReadActor = (ctx: Pick<ObjectSharedContext, "request">) => Actor;

/** The actor of a call with the ingress token, which is shared: nobody knows who it is. */
export const sharedActor = "ingress-token";

/** Stands for an account at the identity provider that can no longer be determined. */
export const unknownAccount = "unknown";

/** Stands for the caller of a name, where only accounts are compared. */
export const accountOfName = (name: string) => `row:name-${encodeURIComponent(name)}`;

/** The name for callers on this machine, or beside Restate, that did not come through the gateway. */
const unsignedActor = "local-caller";

/** The name that the Restate console's calls have, which send none. */
const unnamedActor = "restate-console";

/** `key`: the gateway signs with it. The name is passed on as the caller wrote it, with `isSigned` beside it. */
export function createReadActor(key: Uint8Array): ReadActor {
  return (ctx) => {
    const { headers, body, target } = ctx.request();
    const by = headers.get(actorHeader) ?? unnamedActor;
    const request = { target: target.toString(), body };
    if (!isSigned(headers, request, key)) return { by };
    const accounts = headers.get(accountsHeader)?.split(" ");
    const ciRun = readRun(headers.get(runHeader));
    return {
      ...{ by, isSigned: true },
      ...(accounts !== undefined && { accounts }),
      ...(ciRun !== undefined && { ciRun }),
    };
  };
}

function readRun(header: string | undefined): CiRun | undefined {
  if (header === undefined) return undefined;
  return CiRun.safeParse(parseJsonText(Buffer.from(header, "base64url").toString())).data;
}

/** The name that is written to the history: nobody's if the gateway has not signed it. */
export function nameOf({ by, isSigned }: Actor): string {
  return isSigned === true ? by : unsignedActor;
}
