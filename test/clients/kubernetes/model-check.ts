/** What is not as the models of Kubernetes' own client library have it: they list every field that there is. */
import * as library from "@kubernetes/client-node";

type Field = { baseName: string; type: string };
type Model = { getAttributeTypeMap: () => Field[] };

const isTime = (value: unknown) => typeof value === "string" && !Number.isNaN(Date.parse(value));

const values: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  any: () => true,
  Date: isTime,
  V1MicroTime: isTime,
  IntOrString: (value) => typeof value === "string" || typeof value === "number",
};

/**
 * A line for each field that the model does not know, or whose value is of another type: `/spec/replica: unknown`.
 * `type` as the library writes it: `V1Deployment`, `Array<V1Container>`. What is missing is no fault.
 */
export function findModelFaults(value: unknown, type: string, at = ""): string[] {
  const isValue = values[type];
  if (isValue !== undefined) return isValue(value) ? [] : [`${at}: no ${type}`];
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  if (item !== undefined) return findFaultsOfList(value, item, at);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [`${at}: no ${type}`];
  }
  const typeOf = typesIn(type);
  return Object.entries(value).flatMap(([name, inner]) => {
    const found = typeOf(name);
    return found === undefined
      ? [`${at}/${name}: unknown`]
      : findModelFaults(inner, found, `${at}/${name}`);
  });
}

function findFaultsOfList(value: unknown, item: string, at: string): string[] {
  if (!Array.isArray(value)) return [`${at}: no list`];
  return value.flatMap((one, index) => findModelFaults(one, item, `${at}/${index}`));
}

/** The type of each field of a model, or of each entry of a map. */
function typesIn(type: string): (name: string) => string | undefined {
  const entry = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (entry !== undefined) return () => entry;
  const model = (library as unknown as Record<string, Model | undefined>)[type];
  if (model === undefined) throw new Error(`the library has no model ${type}`);
  const types = new Map(model.getAttributeTypeMap().map((field) => [field.baseName, field.type]));
  return (name) => types.get(name);
}
