import { expect, it } from "vitest";
import { z } from "zod";
import { apiConfig } from "#api/config.ts";

const Settings = z.object({ acme: apiConfig.acme });
const read = (names: unknown) => Settings.safeParse({ acme: { names } });

it("HTTPS is off unless names are set", () => {
  expect(Settings.parse({}).acme.names).toEqual([]);
});

it("names from the environment are read in lower case and each once", () => {
  const settings = read("api.example.com, API.example.com,eu.example.com");

  expect(settings.data?.acme.names).toEqual(["api.example.com", "eu.example.com"]);
});

it.each([
  "*.example.com",
  "192.0.2.1",
  "https://example.com",
  "example.com:443",
  "exa mple.com",
  "",
])("the settings refuse %j, which HTTP-01 cannot prove", (name) => {
  expect(read([name]).success).toBe(false);
});
