/** Fills the secrets into the fields of a channel, anew at every attempt: a new value needs no restart. */
import type { Outcome } from "#alerts/outcome.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { findUrlFault, httpSchemes } from "#kernel/address.ts";
import {
  catchMisdirected,
  hostIn,
  isSameServer,
  MisdirectedSecret,
  type ReadSecret,
  requireMeant,
  type Secret,
} from "#kernel/secrets.ts";

/** The destination of a channel's events. Both fields are secret. */
export type Destination = {
  address: URL;
  /** The value of the channel's `secret`; undefined: it has none. */
  secret: string | undefined;
};

const placeholder = /\{\{([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\}\}/g;

/** Lists the texts by which an answer would tell a secret of the channel: the values, and what the receiver sees of an address. */
export function tellingTexts(
  channel: DirectChannel,
  { address, secret = "" }: Destination,
  readSecret: ReadSecret,
): string[] {
  const names = [...channel.url.matchAll(placeholder)].map(([, name = ""]) => name);
  const values = names.flatMap((name) => readSecret(name)?.value ?? []);
  const path = names.length === 0 ? "" : `${address.pathname}${address.search}`;
  return [...values, ...values.map(encodeURIComponent), path, secret];
}

/** Returns an outcome for an unset secret or a bad address. Throws a `MisdirectedSecret` if one may not go there. */
export function findDestination(
  channel: DirectChannel,
  readSecret: ReadSecret,
): Destination | Outcome {
  const values = new Map<string, Secret>();
  const secret = channel.kind === "slack" ? undefined : channel.secret;
  for (const [, name = ""] of `${channel.url} ${secret ?? ""}`.matchAll(placeholder)) {
    const found = readSecret(name);
    if (found === undefined) return channelFault(`the secret VEDETTE_SECRET_${name} is not set`);
    values.set(name, found);
  }
  const url = fillAddress(channel.url, values);
  const [schemes, example] = forms[channel.kind];
  const fault = findUrlFault(url, { schemes, example });
  if (fault !== undefined) {
    const words = schemes.map((scheme) => `${scheme}://`).join(" or ");
    return channelFault(`the url, with its secrets, is no address of ${words}: it ${fault}`);
  }
  const address = new URL(url);
  const bindings = [...values].flatMap(([name, { value, bindings }]) => {
    const own = channel.url.startsWith(`{{${name}}}`) ? URL.parse(value) : null;
    return own !== null && isSameServer(own, address) ? [] : bindings;
  });
  requireMeant(bindings, { address, shown: hostIn(channel.url) });
  const fill = (_: string, name: string) => values.get(name)?.value ?? "";
  return { address, secret: secret?.replace(placeholder, fill) };
}

/** As `findDestination`, with an outcome also for a secret that may not go there. */
export function readDestination(
  channel: DirectChannel,
  readSecret: ReadSecret,
): Destination | Outcome {
  const found = catchMisdirected(() => findDestination(channel, readSecret));
  return found instanceof MisdirectedSecret ? channelFault(found.message) : found;
}

/** An outcome that says nothing about the event: it waits until the channel is repaired. */
export function channelFault(cause: string): Outcome {
  return { kind: "retry", cause, isChannelFault: true };
}

/** The user and the password in an address; empty: it has none. */
export function credentialsIn({ username, password }: URL): { user: string; password: string } {
  return { user: decode(username), password: decode(password) };
}

/** A password may have a `%` that nobody has encoded. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A secret at the beginning is a whole address; further on it is a part of one. */
function fillAddress(url: string, values: ReadonlyMap<string, Secret>): string {
  return url.replace(placeholder, (_, name: string, at: number) => {
    const { value = "" } = values.get(name) ?? {};
    return at === 0 ? value : encodeURIComponent(value);
  });
}

type Form = [schemes: readonly string[], example: string];
const web: Form = [httpSchemes, "https://alerts.example.com/vedette"];
const forms: Record<DirectChannel["kind"], Form> = {
  slack: web,
  webhook: web,
  pagerduty: web,
  email: [["smtps", "smtp"], "smtp://mail.example.com:587"],
  syslog: [["tls", "tcp"], "tls://logs.example.com:6514"],
};
