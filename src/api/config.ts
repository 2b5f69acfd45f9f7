import { isIP } from "node:net";
import { z } from "zod";
import {
  flag,
  networkList,
  optionalText,
  optionalUrl,
  port,
  secret,
  secretList,
  secretText,
  secretUrl,
  textList,
  urlSetting,
  wholeNumber,
} from "#kernel/setting.ts";

/** Authorities allow no more in one certificate. */
const namesAtMost = 100;

/** HTTP-01 proves single names only: no wildcards, no addresses (RFC 8555, section 8.3). */
const hostName = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.hostname())
  .refine((name) => isIP(name) === 0, "a host name is needed, not an address");

export const apiConfig = {
  api: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").describe("Where the public API listens"),
      port: port(7070).describe("Its port"),
      threads: wholeNumber({ min: 0, max: 64, default: 0 }).describe(
        "Its threads; 0: by processors and memory (macOS, Windows: 1)",
      ),
      root_key: secretText().describe(
        "The first root key, of `ws_default`; empty: generated, in `<data_dir>/credentials.json`",
      ),
      root_key_grace_seconds: wholeNumber({ min: 0, max: 31_536_000, default: 0 }).describe(
        "How long the earlier root key stays valid",
      ),
      error_docs_url: optionalUrl().describe(
        "Where an error's `type` leads; empty: `/docs/errors`",
      ),
      trusted_proxies: networkList().describe(
        "Proxies (addresses, CIDR) whose `X-Forwarded-For` is believed",
      ),
      encryption_keys: secretList().describe(
        "Keys that seal recoverable keys, `<id>:<32 bytes in base64>`, one a line in a file; empty: generated",
      ),
      cached_keys: wholeNumber({ min: 0, max: 10_000_000, default: 0 }).describe(
        "Keys in memory, about 0.6 kB each; 0: a third of the heap, 1,000,000 at most",
      ),
      region: z.string().min(1).default("local").describe("Where this process runs, for analytics"),
      fast_lane: flag()
        .default(true)
        .describe("Read usual requests by a parser faster than Node's"),
      log_requests: flag().default(false).describe("Log each request; turns the fast lane off"),
      validate_answers: flag()
        .default(false)
        .describe("For tests: an answer against its schema is a 500"),
    })
    .prefault({}),
  clickhouse: z
    .strictObject({
      url: secretUrl().describe(
        "ClickHouse with user, password and database; empty: the embedded `chdb`",
      ),
    })
    .prefault({}),
  analytics: z
    .strictObject({
      enabled: flag().default(true).describe("false: nothing is recorded; queries answer 412"),
      retention_days: wholeNumber({ min: 1, max: 1_825, default: 30 }).describe(
        "The retention of single events",
      ),
      spool_megabytes: wholeNumber({ min: 1, max: 1_000_000, default: 1_024 }).describe(
        "What may wait on disk for the store",
      ),
    })
    .prefault({}),
  redis: z
    .strictObject({
      url: secret(
        urlSetting({
          schemes: ["redis", "rediss"],
          example: "redis://user:password@redis.example.com:6379",
        }),
      ).describe("Redis, for rate limits of several `api` processes; empty: each limits alone"),
    })
    .prefault({}),
  acme: z
    .strictObject({
      names: textList()
        .pipe(z.array(hostName).max(namesAtMost))
        .transform((names) => [...new Set(names)])
        .describe("The API's host names; accepts the authority's terms; empty: no HTTPS"),
      directory_url: z
        .url({ protocol: /^https?$/ })
        .default("https://acme-v02.api.letsencrypt.org/directory")
        .describe("The authority, by its ACME directory"),
      email: optionalText().describe("Whom the authority may write to"),
      host: z.string().min(1).default("0.0.0.0").describe("Where the two ports listen"),
      http_port: port(80).describe("Where challenges are answered (the authority calls 80)"),
      https_port: port(443).describe("Where the API is served by HTTPS"),
    })
    .prefault({}),
};
