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
      base_url: optionalUrl().describe(
        "The API that checks with a `path` call; empty: the own one",
      ),
      ping_url: optionalUrl().describe("The start of ping URLs; empty: the address of `control`"),
      location: z.string().trim().min(1).default("local").describe("The location of this process"),
      key: secretText().describe("`{{KEY}}` in the requests of checks"),
      root_key: secretText().describe("`{{ROOT_KEY}}` in the requests of checks"),
      witness: textList()
        .default([])
        .refine((given) => given.length <= 5, "are 5 addresses at most")
        .refine(
          (given) => given.every((address) => readWitness(address) !== undefined),
          "has to be addresses such as https://example.com or tcp://192.0.2.1:443",
        )
        .describe("Up to 5 addresses that answer whenever the network works"),
      private_networks: flag()
        .default(true)
        .describe("Checks and channels may use private networks and loopback"),
      rate_limit_locations: textList()
        .default([...rateLimitLocations])
        .describe("The hosted monitor's locations of the rate-limit check"),
      failed_at_percent: wholeNumber({ min: 0, max: 100, default: 0 }).describe(
        "How many of the reporting locations fail a run; 0: any",
      ),
      secret_prefix: z
        .string()
        .regex(/^[A-Z][A-Z0-9_]*$/)
        .default("VEDETTE")
        .describe("The prefix of the secrets' names at the hosted monitor"),
      public_status: flag().default(true).describe("Serve `/status.json` and badges to everyone"),
      result_days: wholeNumber({ min: 1, max: 400, default: 30 }).describe(
        "The retention of single results",
      ),
      hour_days: wholeNumber({ min: 1, max: 4_000, default: 400 }).describe(
        "The retention of sums by hour, and of past alerts",
      ),
    })
    .prefault({}),
};

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
