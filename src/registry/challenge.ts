/** The challenge of a registry that answers 401: it requires a password, or a token from a token service. */
import { isIP } from "node:net";
import { isLoopback, isPlainHttp, refuse } from "./image-name.ts";

export type BearerChallenge = { scheme: "bearer"; realm: string; service: string; scope: string };

export type Challenge = { scheme: "basic" } | BearerChallenge;

type Offer = { scheme: string; fields: Map<string, string> };

/** Picks the challenges that we support (RFC 9110, section 11.6.1), in the order to try: a token before the password. */
export function parseChallenges(headers: readonly string[]): Challenge[] {
  const rank = ({ scheme }: Challenge) => (scheme === "bearer" ? 0 : 1);
  const known = headers.flatMap(parseHeader).flatMap(toChallenge);
  return known.sort((one, other) => rank(one) - rank(other));
}

const token = String.raw`[\w!#$%&'*+.^|~-]+`;

/** A parameter; or a scheme, perhaps with a value that is no parameter, as Negotiate has; or neither. */
const element = new RegExp(
  String.raw`(?<name>${token})[ \t]*=[ \t]*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s,"=][^\s,"]*))|` +
    String.raw`(?<scheme>${token})(?:[ \t]+[\w.~+/-]+=*(?=[ \t]*(?:,|$)))?(?=[\s,]|$)|[^\s,]+`,
  "g",
);

function parseHeader(header: string): Offer[] {
  const offers: Offer[] = [];
  for (const { groups = {} } of header.matchAll(element)) {
    const { name = "", quoted, plain = "", scheme } = groups;
    const fields = offers.at(-1)?.fields;
    if (scheme !== undefined) offers.push({ scheme: scheme.toLowerCase(), fields: new Map() });
    else if (name !== "" && fields?.has(name.toLowerCase()) === false) {
      fields.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain);
    }
  }
  return offers;
}

function toChallenge({ scheme, fields }: Offer): Challenge[] {
  if (scheme === "basic") return [{ scheme }];
  const realm = fields.get("realm") ?? "";
  if (scheme !== "bearer" || realm === "") return [];
  const [service = "", scope = ""] = [fields.get("service"), fields.get("scope")];
  return [{ scheme, realm, service, scope }];
}

export type RealmRules = { insecure: readonly string[]; tokenHosts: readonly string[] };

/**
 * The address of the token service of the registry at `host`. We send the password there, from inside our
 * network: throws a `ProblemError` (registry_auth) when that would be unencrypted, or to a host that does
 * not belong to the registry.
 */
export function checkRealm(realm: string, host: string, rules: RealmRules): URL {
  const address = URL.parse(realm);
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw refuse(
      "registry_auth",
      `the registry ${host} names a token service without a valid address`,
    );
  }
  const isListed = rules.tokenHosts.includes(address.host);
  if (!isListed && !isNeighbour(address.host, host)) {
    const detail = `the registry ${host} names ${address.host} as its token service, a foreign host`;
    throw refuse("registry_auth", `${detail}; list it in registry.token_hosts if that is correct`);
  }
  if (address.protocol === "http:" && !isPlainHttp(address.host, rules.insecure)) {
    const detail = `the registry ${host} requires credentials unencrypted at ${address.host}`;
    throw refuse("registry_auth", `${detail}; list it in registry.insecure if that is acceptable`);
  }
  return address;
}

/**
 * True if a token service may belong to a registry: it is the same host, a subdomain of it, or its parent domain or
 * a host in that (registry.example.com: example.com, auth.example.com). Docker's is auth.docker.io for
 * registry-1.docker.io. A domain of one label (`io`) does not count.
 */
function isNeighbour(realm: string, registry: string): boolean {
  if (isLoopback(realm) || isLoopback(registry)) return isLoopback(realm) && isLoopback(registry);
  const [realmName, registryName] = [withoutPort(realm), withoutPort(registry)];
  if (realmName === registryName) return true;
  if (isAddress(realmName) || isAddress(registryName)) return false;
  if (realmName.endsWith(`.${registryName}`)) return registryName.includes(".");
  const domain = registryName.slice(registryName.indexOf(".") + 1);
  return domain.includes(".") && (realmName === domain || realmName.endsWith(`.${domain}`));
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || isIP(name) !== 0;
}
