/** Finds out how to reach the mail server of a channel. */
import { credentialsIn, type Destination } from "#alerts/channels/secrets.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { isLoopback } from "#kernel/address.ts";

type Terms = Destination & { channel: ChannelOf<"email">; timeoutMs: number };

/** A few, since servers limit them; a mail waits for one of them. */
const connections = 3;

/**
 * A password is sent over TLS with a certificate that is verified, except to this machine. Where TLS is
 * optional and no password is sent, TLS without a valid certificate is still better than none.
 */
export function serverOf({ address, secret, channel, timeoutMs }: Terms) {
  const isSecure = address.protocol === "smtps:";
  const isLocal = isLoopback(address.hostname);
  const auth = credentialsOf({ address, secret, channel });
  const isStrict = !isLocal && (isSecure || channel.tls === "required" || auth !== undefined);
  return {
    pool: true,
    maxConnections: connections,
    // The queue of the event retries: here nothing is repeated.
    maxRequeues: 0,
    host: address.hostname.replace(/^\[|\]$/g, ""),
    port: address.port === "" ? (isSecure ? 465 : 587) : Number(address.port),
    secure: isSecure,
    requireTLS: isStrict && !isSecure,
    tls: { rejectUnauthorized: isStrict },
    ...(auth !== undefined && { auth }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    socketCloseTimeout: 500,
    logger: false,
  };
}

function credentialsOf({ address, secret, channel }: Omit<Terms, "timeoutMs">) {
  const given = credentialsIn(address);
  const user = channel.user ?? given.user;
  const pass = secret ?? given.password;
  return user === "" && pass === "" ? undefined : { user, pass };
}
