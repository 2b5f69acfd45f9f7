/** Schemas for settings, which are typed in TOML and text in the environment. */
import { z } from "zod";
import { baseUrl, findUrlFault, httpSchemes, isNetwork, type WantedUrl } from "./address.ts";
import { got, refuseBy } from "./faults.ts";

/** `"12"` from the environment is a number. An empty value, or one of another type, is a fault: it would read as 0. */
export const wholeNumberIn = ({ min, max }: { min: number; max: number }) =>
  z.preprocess(
    (value) =>
      typeof value === "string" && /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : value,
    z.int().min(min).max(max),
  );

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

/** An address, or empty for "not set". */
export const urlSetting = (wanted: WantedUrl) =>
  z
    .string()
    .trim()
    .superRefine(refuseBy((url) => (url === "" ? undefined : findUrlFault(url, wanted))))
    .default("");

/** An http(s) address without a trailing slash, or empty for "not set". */
const webUrl = (wanted: WantedUrl) =>
  urlSetting(wanted).transform((url) => url.replace(/\/+$/, ""));

const noUser = "it is shown, so that it may have no user and no password";

/** One that is shown, and to which paths are added. */
export const optionalUrl = () => webUrl(baseUrl("https://example.com", noUser));

const secretSettings = z.registry<Record<never, never>>();

/** Marks a setting whose value nobody else may see. The variable `<NAME>_FILE` may name a file that has it. */
export const secret = <Schema extends z.ZodType>(schema: Schema): Schema => {
  secretSettings.add(schema, {});
  return schema;
};

export const secretText = () => secret(optionalText());

/** An address that contains a secret, such as a password or a token. */
export const secretUrl = () =>
  secret(webUrl({ schemes: httpSchemes, example: "https://example.com" }));

export const secretList = () => secret(textList());

/** The dotted paths of the secrets in a schema of settings; `<name>` stands for the name of one of several tables. */
export function secretPaths(schema: z.core.$ZodType, path: readonly string[] = []): string[] {
  if (isSecret(schema)) return [path.join(".")];
  if (hasDefault(schema)) return secretPaths(schema.def.innerType, path);
  if (schema instanceof z.ZodRecord) return secretPaths(schema.def.valueType, [...path, "<name>"]);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, part]) => secretPaths(part, [...path, key]));
}

/** A schema with a description is a copy of the one that was marked. */
export function isSecret(schema: z.core.$ZodType): boolean {
  const { parent } = schema._zod;
  return secretSettings.has(schema) || (parent !== undefined && isSecret(parent));
}

function hasDefault(schema: z.core.$ZodType): schema is z.ZodPrefault | z.ZodDefault {
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault;
}

/** The settings of a table where they differ from what holds for all: none has a default. */
export function overrides<Shape extends z.ZodRawShape>(
  table: z.ZodPrefault<z.ZodObject<Shape>>,
): z.ZodType<Partial<z.output<z.ZodObject<Shape>>>> {
  const fields = Object.entries(table.def.innerType.shape).map(([name, field]) => {
    const own = z.optional(withoutDefault(field));
    return [name, isSecret(field) ? secret(own) : own];
  });
  const schema: unknown = z.strictObject(Object.fromEntries(fields)).prefault({});
  return schema as z.ZodType<Partial<z.output<z.ZodObject<Shape>>>>;
}

function withoutDefault(schema: z.core.$ZodType): z.core.$ZodType {
  return hasDefault(schema) ? withoutDefault(schema.def.innerType) : schema;
}

/** A list; from the environment separated by commas or line ends. */
export const textList = () =>
  z
    .union([
      z.array(z.string()),
      z.string().transform((text) =>
        text
          .split(/[,\n]/)
          .map((part) => part.trim())
          .filter((part) => part !== ""),
      ),
    ])
    .default([]);

export const networkList = () =>
  textList().refine((entries) => entries.every(isNetwork), {
    error: "must be addresses or ranges such as 10.0.0.0/8, separated by commas",
  });

// Schemas for lists from another system, which may be long and may have invalid items only.

/** Parsed up to the first invalid item: `z.array` collects an issue for each, more than memory for a million. */
export function listOf<Item extends z.ZodType>(item: Item, most: number) {
  return z.custom<unknown[]>(Array.isArray, "no list").transform((given, context) => {
    if (given.length > most) return refuse(context, { message: `more than ${most} items` });
    const read: z.output<Item>[] = [];
    for (const [index, one] of given.entries()) {
      const result = item.safeParse(one);
      const [wrong] = result.error?.issues ?? [];
      if (wrong) return refuse(context, { ...wrong, path: [index, ...wrong.path] });
      read.push(result.data as z.output<Item>);
    }
    return read;
  });
}

const mostParts = 10_000;

/** A list inside of an object, which has none for null. */
export const many = <Item extends z.ZodType>(item: Item) =>
  listOf(item, mostParts)
    .nullish()
    .transform((items) => items ?? []);

/** Texts by name; none for null. Of a record, too, `z.record` collects an issue for every invalid one. */
export const Texts = z
  .custom<Record<string, string>>(
    (given) => Object.keys(given ?? {}).length <= mostParts,
    "too many texts",
  )
  .pipe(z.record(z.string(), z.string()))
  .nullish()
  .transform((texts) => texts ?? {});

function refuse(context: z.RefinementCtx, issue: { message: string; path?: PropertyKey[] }): never {
  const { message, path = [] } = issue;
  context.addIssue({ code: "custom", message, path });
  return z.NEVER;
}
