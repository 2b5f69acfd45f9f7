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
      /**
       * The API's own host names. Setting them accepts the authority's terms of service, and opens the
       * two ports below. Empty: no certificate, no HTTPS.
       */
      names: textList()
        .pipe(z.array(hostName).max(namesAtMost))
        .transform((names) => [...new Set(names)]),
      /** The authority, by its ACME directory. */
      directory_url: z
        .url({ protocol: /^https?$/ })
        .default("https://acme-v02.api.letsencrypt.org/directory"),
      /** The address that the authority may write to; empty: none. */
      email: optionalText(),
      host: z.string().min(1).default("0.0.0.0"),
      /** Port of challenges: the authority sends them to port 80. */
      http_port: port(80),
      /** Port of the API by HTTPS once there is a certificate. */
      https_port: port(443),
    })
    .prefault({}),
};
