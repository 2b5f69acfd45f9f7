/** Building blocks for settings, which arrive typed from TOML and as text from the environment. */
import { z } from "zod";

/** A whole number; `"12"` from the environment counts. */
export const wholeNumber = (range: { min: number; max: number; default: number }) =>
  z.coerce.number().int().min(range.min).max(range.max).default(range.default);

/** A TCP port; 0 takes a free one. */
export const port = (preset: number) => wholeNumber({ min: 0, max: 65_535, default: preset });

/** true or false; from the environment also 1/0, yes/no, on/off. */
export const flag = () => z.union([z.boolean(), z.stringbool()]);

/** Text that may be left empty, which means "not set". */
export const optionalText = () => z.string().trim().default("");

/** An http(s) address without a trailing slash, or empty for "not set". */
export const optionalUrl = () =>
  z
    .union([z.literal(""), z.url({ protocol: /^https?$/ })])
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
