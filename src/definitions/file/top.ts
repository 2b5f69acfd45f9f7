/** Reads the top of a file: sections, `extends` and `include`. */
import { type Section, sectionNames } from "#definitions/rows/contract.ts";
import { hintOf } from "#kernel/text.ts";
import type { Fault } from "./fault.ts";
import type { Path } from "./offsets.ts";
import type { Source } from "./source.ts";

export type Top = {
  extendsStandard: boolean;
  include: string[];
  /** The sections that the file has, unchanged. */
  sections: Partial<Record<Section, unknown>>;
  faults: Fault[];
};

/** `$schema`: for editors. */
const topNames = ["$schema", "extends", "include", ...sectionNames];

export function readTop(source: Source): Top {
  const { data } = source;
  if (!isObject(data)) {
    const message = `has to have ${sectionNames.join(", ")}, extends or include`;
    return { ...nothing, faults: [source.faultAt([], { where: "", message })] };
  }
  const unknown = Object.keys(data).filter((name) => !topNames.includes(name));
  const complain = (at: Path, message: string) =>
    source.faultAt(at, { where: at.join("."), message });
  const sections = sectionNames.filter((section) => (data[section] ?? null) !== null);
  return {
    extendsStandard: asList(data["extends"]).includes("standard"),
    include: asList(data["include"]).filter((entry) => typeof entry === "string"),
    sections: Object.fromEntries(sections.map((section) => [section, data[section]])),
    faults: [
      ...unknown.map((name) => complain([name], `is unknown${hintOf(name, topNames)}`)),
      ...lintList(data["extends"], "extends", isStandard, "standard").map(toFault),
      ...lintList(data["include"], "include", isText, "checks/*.yaml").map(toFault),
    ],
  };

  function toFault({ at, message }: { at: Path; message: string }): Fault {
    return complain(at, message);
  }
}

const nothing: Top = { extendsStandard: false, include: [], sections: {}, faults: [] };

const isStandard = (entry: unknown) => entry === "standard";
const isText = (entry: unknown) => typeof entry === "string" && entry !== "";

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** One fault for each entry that is not as it has to be. */
function lintList(
  value: unknown,
  name: string,
  isRight: (entry: unknown) => boolean,
  example: string,
): { at: Path; message: string }[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    return [{ at: [name], message: `has to be a list, such as [${example}]` }];
  }
  const isFixed = name === "extends";
  const message = isFixed ? `has to be ${example}` : `has to be files, such as ${example}`;
  return value.flatMap((entry, index) => (isRight(entry) ? [] : [{ at: [name, index], message }]));
}
