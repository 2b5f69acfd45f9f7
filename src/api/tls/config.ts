import { isIP } from "node:net";
import { z } from "zod";
import { optionalText, port, textList } from "#kernel/setting.ts";

/** Authorities allow no more in one certificate. */
const namesAtMost = 100;

/** HTTP-01 proves single names only: no wildcards, no addresses (RFC 8555, section 8.3). */
const hostName = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.hostname())
  .refine((name) => isIP(name) === 0, "a host name is needed, not an address");

export const acmeConfig = {
  acme: z
    .strictObject({
      names: textList()
        .pipe(z.array(hostName).max(namesAtMost))
        .transform((names) => [...new Set(names)])
        .describe(
          "The API's host names; empty: no HTTPS. Accepts the authority's terms of service",
        ),
      directory_url: z
        .url({ protocol: /^https?$/ })
        .default("https://acme-v02.api.letsencrypt.org/directory")
        .describe("The authority, by its ACME directory"),
      email: optionalText().describe("The address that the authority may write to"),
      host: z.string().min(1).default("0.0.0.0").describe("Where the two ports listen"),
      http_port: port(80).describe("Where challenges are answered; the authority calls port 80"),
      https_port: port(443).describe("Where the API is served by HTTPS"),
    })
    .prefault({}),
};
