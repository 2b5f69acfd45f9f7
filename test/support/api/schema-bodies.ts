/** Bodies made from a JSON Schema of the wire contract: ones that it takes, and ones that it refuses. */
import fc from "fast-check";
import { resolve, type Schema } from "./api-contract.ts";

type Json = unknown;

type ObjectSchema = {
  properties: Record<string, Schema>;
  required: readonly string[];
  isOpen: boolean;
};

/** The types a schema allows, `null` among them where it does. */
function typesOf(schema: Schema): readonly string[] {
  const { type } = schema;
  return typeof type === "string" ? [type] : (type as string[]);
}

function objectOf(schema: Schema): ObjectSchema {
  return {
    properties: (schema["properties"] ?? {}) as Record<string, Schema>,
    required: (schema["required"] ?? []) as string[],
    isOpen: schema["additionalProperties"] === true,
  };
}

function numberOf(schema: Schema, keyword: string, preset: number): number {
  return (schema[keyword] as number | undefined) ?? preset;
}

export type BodyOptions = {
  /** With every property that the schema knows, and without null. */
  full?: boolean;
  /** Texts that mostly stand in properties (or lists) of a name, whatever the schema says of them. */
  known?: Record<string, fc.Arbitrary<string>>;
};

/** What the schema takes, its limits among it; `name` is of the property that it is of. */
export function bodiesOf(
  unresolved: Schema,
  options: BodyOptions = {},
  name = "",
): fc.Arbitrary<Json> {
  const schema = resolve(unresolved);
  if (schema["enum"] !== undefined) return fc.constantFrom(...(schema["enum"] as Json[]));
  const makers = typesOf(schema)
    .filter((type) => options.full !== true || type !== "null")
    .map((type) => makerOf(schema, type, { options, name }));
  return fc.oneof(...makers);
}

type Context = { options: BodyOptions; name: string };

function makerOf(schema: Schema, type: string, context: Context): fc.Arbitrary<Json> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return integers(schema);
    case "string":
      return stringsOf(schema, context);
    case "array":
      return arrays(schema, context);
    case "object":
      return objects(schema, context.options);
    default:
      throw new Error(`no bodies of type ${type}`);
  }
}

function stringsOf(schema: Schema, { options, name }: Context): fc.Arbitrary<string> {
  const known = options.known?.[name];
  if (known === undefined) return strings(schema);
  return fc.oneof({ weight: 6, arbitrary: known }, { weight: 1, arbitrary: strings(schema) });
}

function integers(schema: Schema): fc.Arbitrary<number> {
  const min = numberOf(schema, "minimum", -(2 ** 53));
  const max = numberOf(schema, "maximum", Number.MAX_VALUE);
  const near = [min, min + 1, max, Math.min(max, 2 ** 53), Math.min(max, 2 ** 63)];
  const small = fc.integer({ min: Math.max(min, -1_000), max: Math.min(max, min + 100_000) });
  return fc.oneof(fc.constantFrom(...near), small);
}

/** Lengths count characters: some of these are two units of UTF-16, some have NUL or half a pair. */
const anyCharacter = fc.oneof(
  { weight: 200, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
  { weight: 200, arbitrary: fc.constantFrom("a", "Z", "_", "é", "😀", " ") },
  { weight: 1, arbitrary: fc.constantFrom("\u0000", "\ud800") },
);

const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

/** All patterns of requests are one class of characters, repeated. */
function unitOf(schema: Schema): fc.Arbitrary<string> {
  const { pattern } = schema;
  if (typeof pattern !== "string") return anyCharacter;
  return fc.constantFrom(...ascii.filter((character) => new RegExp(pattern, "u").test(character)));
}

function strings(schema: Schema): fc.Arbitrary<string> {
  const min = numberOf(schema, "minLength", 0);
  const max = numberOf(schema, "maxLength", min + 40);
  const unit = unitOf(schema);
  const ofLength = (minLength: number, maxLength: number) =>
    fc.string({ unit, minLength, maxLength, size: "max" });
  const short = ofLength(min, Math.min(max, min + 20));
  return fc.oneof({ weight: 8, arbitrary: short }, { weight: 1, arbitrary: ofLength(max, max) });
}

function arrays(schema: Schema, { options, name }: Context): fc.Arbitrary<Json[]> {
  const minLength = Math.max(numberOf(schema, "minItems", 0), options.full === true ? 1 : 0);
  const maxLength = Math.min(numberOf(schema, "maxItems", 4), minLength + 3);
  return fc.array(bodiesOf(schema["items"] as Schema, options, name), { minLength, maxLength });
}

function objects(schema: Schema, options: BodyOptions): fc.Arbitrary<Json> {
  const { properties, required, isOpen } = objectOf(schema);
  if (isOpen) {
    return fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5, noNullPrototype: true });
  }
  const models: Record<string, fc.Arbitrary<Json>> = {};
  for (const [name, of] of Object.entries(properties)) models[name] = bodiesOf(of, options, name);
  const requiredKeys = options.full === true ? Object.keys(properties) : [...required];
  return fc.record(models, { requiredKeys, noNullPrototype: true });
}

/** A body with something in it, at any depth, replaced by any other JSON, or by what is given. */
export function mutated(
  bodies: fc.Arbitrary<Json>,
  replacements: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }),
): fc.Arbitrary<Json> {
  return fc.tuple(bodies, fc.nat(), replacements).map(([body, pick, replacement]) => {
    const places = placesIn(body);
    return replaceAt(body, places[pick % places.length] ?? [], replacement);
  });
}

type Place = readonly (string | number)[];

function placesIn(body: Json): Place[] {
  if (typeof body !== "object" || body === null) return [[]];
  const inner = Array.isArray(body) ? [...body.entries()] : Object.entries(body);
  return [[], ...inner.flatMap(([step, value]) => placesIn(value).map((at) => [step, ...at]))];
}

function valueAt(body: Json, place: Place): Json {
  return place.reduce((value, step) => (value as Record<string, Json>)[step], body);
}

function replaceAt(body: Json, place: Place, replacement: Json): Json {
  const [step, ...rest] = place;
  if (step === undefined) return replacement;
  const copy = (Array.isArray(body) ? [...body] : { ...(body as object) }) as Record<string, Json>;
  copy[step] = replaceAt(copy[step], rest, replacement);
  return copy;
}

/** How one keyword of a schema is broken in a body that has every property of it. */
export type Breakage = {
  /** Of the keyword in the schema, as refusals name it: `/properties/name/minLength`. */
  location: string;
  /** Several ways at once for some keywords. */
  breakIn: (body: Json) => Json[];
};

/** One for each keyword of the schema and of all in it. */
export function breakagesOf(schema: Schema): Breakage[] {
  return walk(schema, { place: [], location: "" });
}

type Position = { place: Place; location: string };

function walk(unresolved: Schema, at: Position): Breakage[] {
  const schema = resolve(unresolved);
  const own = Object.entries(breakers).flatMap(([keyword, breaker]) => {
    if (schema[keyword] === undefined || (keyword === "type" && schema["enum"] !== undefined)) {
      return [];
    }
    const breakIn = (body: Json) =>
      breaker(schema, valueAt(body, at.place)).map((broken) => replaceAt(body, at.place, broken));
    return [{ location: `${at.location}/${keyword}`, breakIn }];
  });
  return [...own, ...inside(schema, at)];
}

function inside(schema: Schema, { place, location }: Position): Breakage[] {
  const { properties } = objectOf(schema);
  const fields = Object.entries(properties).flatMap(([name, of]) =>
    walk(of, { place: [...place, name], location: `${location}/properties/${name}` }),
  );
  const { items } = schema;
  if (items === undefined) return fields;
  return walk(items as Schema, { place: [...place, 0], location: `${location}/items` });
}

const ofEachType: Record<string, Json> = {
  null: null,
  boolean: true,
  integer: 7,
  number: 7.5,
  string: "a string",
  array: [],
  object: {},
};

type Breaker = (schema: Schema, value: Json) => Json[];

const breakers: Record<string, Breaker> = {
  type: (schema) =>
    Object.keys(ofEachType)
      .filter((type) => !typesOf(schema).includes(type))
      .map((type) => ofEachType[type]),
  enum: () => ["neither of them", 7, null],
  minLength: (schema, value) => {
    const min = numberOf(schema, "minLength", 0);
    return min === 0 ? [] : [[...String(value)].slice(0, min - 1).join("")];
  },
  maxLength: (schema) => ["a".repeat(numberOf(schema, "maxLength", 0) + 1)],
  pattern: (_, value) => [`${value} `.slice(1), "é".repeat(String(value).length)],
  minimum: (schema) => [numberOf(schema, "minimum", 0) - 1, -1e300],
  maximum: (schema) => {
    const max = numberOf(schema, "maximum", 0);
    return [max + Math.max(1, max / 2 ** 50), 1e300];
  },
  minItems: (schema, value) => [(value as Json[]).slice(0, numberOf(schema, "minItems", 0) - 1)],
  maxItems: (schema, value) => {
    const length = numberOf(schema, "maxItems", 0) + 1;
    return [Array.from({ length }, () => (value as Json[])[0])];
  },
  maxProperties: (schema) => {
    const length = numberOf(schema, "maxProperties", 0) + 1;
    return [Object.fromEntries(Array.from({ length }, (_, index) => [`p${index}`, index]))];
  },
  required: (schema, value) =>
    objectOf(schema).required.map((name) => {
      const { [name]: _, ...rest } = value as Record<string, Json>;
      return rest;
    }),
  additionalProperties: (schema, value) =>
    schema["additionalProperties"] === false ? [{ ...(value as object), stranger: 1 }] : [],
};
