/** Schemas for settings, which are typed in TOML and text in the environment. */
import { z } from "zod";
import { isNetwork } from "./address.ts";
import { got } from "./fault-words.ts";

/**
 * A whole number; `"12"` from the environment is one. An empty value, as of a variable that is set to
 * nothing, and a value of another type are faults: they would be read as 0 otherwise.
 */
export const wholeNumberIn = ({ min, max }: { min: number; max: number }) =>
  z.preprocess(
    (value) =>
      typeof value === "string" && /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : value,
    z.int().min(min).max(max),
  );

/** The same with a default. */
export const wholeNumber = (range: { min: number; max: number; default: number }) =>
  wholeNumberIn(range).default(range.default);

/** A TCP port; 0 takes a free one. */
export const port = (preset: number) => wholeNumber({ min: 0, max: 65_535, default: preset });

/** true or false; from the environment also 1/0, yes/no, on/off. */
export const flag = () =>
  z.union([z.boolean(), z.stringbool()], {
    error: ({ input }) => `expected true or false${got(input)}`,
  });

/** Text that may be left empty, which means "not set". */
export const optionalText = () => z.string().trim().default("");

/** An http(s) address without a trailing slash, or empty for "not set". */
export const optionalUrl = () =>
  z
    .union([z.literal(""), z.url({ protocol: /^https?$/ })], {
      error: "must be an address that begins with https:// or http://, or empty",
    })
    .default("")
    .transform((url) => url.replace(/\/+$/, ""));

/** A list; from the environment separated by commas. */
export const textList = () =>
  z
    .union([
      z.array(z.string()),
      z.string().transform((text) =>
        text
          .split(",")
          .map((part) => part.trim())
          .filter((part) => part !== ""),
      ),
    ])
    .default([]);

/** Addresses and ranges of them, such as 10.0.0.0/8. */
export const networkList = () =>
  textList().refine((entries) => entries.every(isNetwork), {
    error: "must be addresses or ranges such as 10.0.0.0/8, separated by commas",
  });
