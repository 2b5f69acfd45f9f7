/** What the address that is given to `checks add` says of the check. */

type Fields =
  | { kind?: never; url: string }
  | { kind: "dns"; domain: string }
  | { kind: "tcp" | "tls"; host: string; port?: number };

/**
 * `tcp://db.example.com:5432`, `tls://shop.example.com` and `dns:example.com`; else an address of HTTP.
 * `bare`: to make an id of, without scheme, query and fragment; of `tls` and `dns` with the kind, since the
 * host may have a check of its page as well. Throws an error that has an example.
 */
export function readAddress(address: string): { fields: Fields; bare: string } {
  const [, scheme = "", rest = ""] =
    /^(https?:\/\/|tcp:\/\/|tls:\/\/|dns:)?(.*)$/is.exec(address) ?? [];
  const bare = rest.replace(/[?#].*$/s, "");
  switch (scheme.toLowerCase()) {
    case "dns:":
      return { fields: { kind: "dns", domain: rest }, bare: `${bare}-dns` };
    case "tcp://":
      return { fields: { kind: "tcp", ...readHost(address, rest, true) }, bare };
    case "tls://":
      return { fields: { kind: "tls", ...readHost(address, rest, false) }, bare: `${bare}-tls` };
    default:
      return { fields: { url: address }, bare };
  }
}

function readHost(address: string, rest: string, needsPort: boolean) {
  const [, inBrackets, plain, port] = /^(?:\[(.*)\]|([^:/]*))(?::(\d{1,5}))?\/?$/.exec(rest) ?? [];
  const host = inBrackets ?? plain ?? "";
  if (host === "" || (needsPort && port === undefined)) {
    const example = needsPort ? "tcp://db.example.com:5432" : "tls://shop.example.com";
    throw new Error(`${address} is not an address such as ${example}`);
  }
  return { host, ...(port !== undefined && { port: Number(port) }) };
}
