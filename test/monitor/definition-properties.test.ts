/** What holds of every definition. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { AlertChannel, ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { buildRequest } from "#monitor/kinds/request.ts";
import { secretsOf } from "#monitor/probe/secrets.ts";
import {
  arbitraryApiCheck,
  arbitraryDefinitions,
} from "../support/monitor/arbitrary-definitions.ts";
import { secretsFrom } from "../support/monitor/standard-definitions.ts";

it("it comes back from JSON as it was", () => {
  fc.assert(
    fc.property(arbitraryDefinitions, ({ apiChecks, heartbeats, channels }) => {
      const again = (rows: readonly unknown[]) => JSON.parse(JSON.stringify(rows)) as unknown[];

      expect(again(apiChecks).map((row) => ApiCheck.parse(row))).toEqual(apiChecks);
      expect(again(heartbeats).map((row) => Heartbeat.parse(row))).toEqual(heartbeats);
      expect(again(channels).map((row) => AlertChannel.parse(row))).toEqual(channels);
    }),
  );
});

it("a member that no definition has is refused", () => {
  fc.assert(
    fc.property(arbitraryApiCheck, (check) => {
      expect(ApiCheck.safeParse({ ...check, retries: 3 }).success).toBe(false);
    }),
  );
});

it("its request has every secret filled in, whatever the secret contains", () => {
  const secret = fc.string({ minLength: 1 }).filter((value) => !/\{\{|[\r\n]/.test(value));
  fc.assert(
    fc.property(arbitraryApiCheck, secret, secret, (check, KEY, ROOT_KEY) => {
      const settings = {
        baseUrl: "https://api.example.com",
        readSecret: secretsFrom({ KEY, ROOT_KEY }),
      };
      const request = buildRequest(check, settings);

      const put = (_: string, value: unknown) =>
        typeof value === "string"
          ? value.replaceAll("{{KEY}}", () => KEY).replaceAll("{{ROOT_KEY}}", () => ROOT_KEY)
          : value;
      const wanted = JSON.parse(JSON.stringify(check), put) as typeof check;
      expect(request.url).toBe(`https://api.example.com${check.path}`);
      expect(request.body === null ? null : JSON.parse(request.body)).toEqual(wanted.body);
      expect(request.headers).toMatchObject(wanted.headers);
    }),
  );
});

it("it needs the secrets that it names and no others", () => {
  fc.assert(
    fc.property(arbitraryApiCheck, (check) => {
      const text = JSON.stringify([check.headers, check.body]);

      expect(secretsOf(check).includes("KEY")).toBe(text.includes("{{KEY}}"));
      expect(secretsOf(check).includes("ROOT_KEY")).toBe(text.includes("{{ROOT_KEY}}"));
    }),
  );
});
