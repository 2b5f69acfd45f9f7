import { z } from "zod";
import { flag, optionalUrl, secretText, textList, wholeNumber } from "#kernel/setting.ts";

/** The locations of the rate-limit check, unless the setting names others. */
const rateLimitLocations: readonly string[] = [
  "us-east-1",
  "us-west-2",
  "eu-central-1",
  "eu-west-2",
  "ap-south-1",
  "ap-southeast-2",
  "ap-northeast-1",
];

export const monitorConfig = {
  monitor: z
    .strictObject({
      /** The address of the API that the checks call; empty: this program's own. */
      base_url: optionalUrl(),
      /** The start of ping URLs, up to the token, if a proxy is in front of control; empty: control's address. */
      ping_url: optionalUrl(),
      /** The location of this process. */
      location: z.string().trim().min(1).default("local"),
      /** The values of `{{KEY}}` and `{{ROOT_KEY}}` in the requests of checks; other secrets: `definitions.secrets_dir`. */
      key: secretText(),
      root_key: secretText(),
      /** Addresses that answer whenever the network of this location works; empty: every failure counts. */
      witness: textList()
        .default([])
        .refine((given) => given.length <= 5, "are 5 addresses at most")
        .refine(
          (given) => given.every((address) => readWitness(address) !== undefined),
          "has to be addresses such as https://example.com or tcp://192.0.2.1:443",
        ),
      /** True if checks and channels may reach private networks and this machine; our own services stay closed. */
      private_networks: flag().default(true),
      /** The hosted monitor's locations of the rate-limit check. */
      rate_limit_locations: textList().default([...rateLimitLocations]),
      /** A run fails when this many percent of the locations that reported failed; 0: when any did. */
      failed_at_percent: wholeNumber({ min: 0, max: 100, default: 0 }),
      /** The prefix of the secrets' names at the hosted monitor: `<PREFIX>_KEY`, `<PREFIX>_ROOT_KEY`. */
      secret_prefix: z
        .string()
        .regex(/^[A-Z][A-Z0-9_]*$/)
        .default("VEDETTE"),
      /** True if `/status.json` and the badges are served without authentication. */
      public_status: flag().default(true),
      /** Retention of single results and of their rollups by minute. */
      result_days: wholeNumber({ min: 1, max: 400, default: 30 }),
      /** Retention of rollups by hour and of resolved alerts. */
      hour_days: wholeNumber({ min: 1, max: 4_000, default: 400 }),
    })
    .prefault({}),
};

/** An address of the setting `monitor.witness`. */
export type WitnessAddress = { host: string; port: number };

/** `https://example.com`, `http://example.com`, `tcp://192.0.2.1:443`; undefined: it is no such address. */
export function readWitness(given: string): WitnessAddress | undefined {
  const [, kind = "", authority = ""] = /^(https?|tcp):\/\/([^/?#@\s]+)\/?$/.exec(given) ?? [];
  if (authority === "" || !URL.canParse(`http://${authority}`)) return undefined;
  const { hostname } = new URL(`http://${authority}`);
  const [, port] = /:(\d{1,5})$/.exec(authority) ?? [];
  const number = port === undefined ? presets[kind] : Number(port);
  if (number === undefined || number < 1 || number > 65_535) return undefined;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: number };
}

const presets: Record<string, number> = { https: 443, http: 80 };
