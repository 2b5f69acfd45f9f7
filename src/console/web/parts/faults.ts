/** Finds the fields of a form that a refusal is about. Pure. */

export type Faults<Name extends string> = {
  fields: Partial<Record<Name, string>>;
  /** What is about no field. */
  rest: string;
};

export const noFaults: Faults<never> = { fields: {}, rest: "" };

/**
 * A refusal has one line for each fault, which begins with the path of the value that it is about: that of the
 * field, or of what is in its value. `fields`: each field with its path in the request.
 */
export function faultsOf<Name extends string>(
  refusal: string,
  fields: Readonly<Record<Name, string>>,
): Faults<Name> {
  const paths = Object.entries<string>(fields) as [Name, string][];
  const faults: Faults<Name> = { fields: {}, rest: "" };
  const rest: string[] = [];
  for (const line of refusal.split("\n")) {
    const [name, path] = paths.find(([, one]) => isAbout(line, one)) ?? [];
    if (name === undefined || path === undefined) rest.push(line);
    else faults.fields[name] ??= wordsAfter(line, path);
  }
  return { ...faults, rest: rest.join("\n") };
}

function isAbout(line: string, path: string): boolean {
  return line.startsWith(`${path}: `) || line.startsWith(`${path}.`);
}

/** With the label that it is about, without the place in a list. */
function wordsAfter(line: string, path: string): string {
  return line.slice(path.length + 1).replace(/^(?:\d*:)? /, "");
}
