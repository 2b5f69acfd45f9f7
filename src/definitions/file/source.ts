/** One file of definitions: its data, and where each value stands. */
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { readIfThere } from "#kernel/files.ts";
import { DefinitionsError, type Fault, Malformed, type Place } from "./fault.ts";
import { mostPlaces, type Parsed, type Path, placeAt } from "./offsets.ts";
import { loadCode } from "./typescript/load.ts";
import { parseYaml } from "./yaml.ts";

export type Source = {
  /** Absolute. */
  file: string;
  /** The name of the file for people. */
  name: string;
  text: string;
  data: unknown;
  faultAt: (path: Path, fault: { where: string; message: string }) => Fault;
  placeOf: (path: Path) => Place | undefined;
};

type Load = (text: string, file: string) => Parsed | Promise<Parsed>;

const formats: Record<string, Load> = {
  ".ts": loadCode,
  ".mts": loadCode,
  ".js": loadCode,
  ".mjs": loadCode,
  ".yaml": parseYaml,
  ".yml": parseYaml,
  ".json": parseYaml,
};

const extensions = Object.keys(formats);

/** Also one of TOML, which `loadSource` refuses; undefined: there is none. Throws `DefinitionsError` for several. */
export function findFile(directory: string): string | undefined {
  const names = [...extensions, ".toml"].map((extension) => `vedette.config${extension}`);
  const found = names.filter((name) => existsSync(path.join(directory, name)));
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  if (others.length === 0) return path.join(directory, first);
  const message = `${found.join(" and ")} are both here: keep one, or name one (definitions.file, --config)`;
  throw new DefinitionsError([{ file: first, where: "", message }]);
}

/** No file of definitions is larger; that of a whole disk must not be read. */
const largestBytes = 16 * 1024 * 1024;

/** Throws `DefinitionsError` when it cannot be read, or is not well-formed. */
export async function loadSource(file: string, name: string): Promise<Source> {
  try {
    const load = formatOf(file);
    const text = readText(file);
    const { data, offsets } = await load(text, file);
    const placeOf = (at: Path) => {
      const offset = offsets.find(at);
      return offset === undefined ? undefined : placeAt(text, offset);
    };
    let faults = 0;
    const faultAt: Source["faultAt"] = (at, fault) => {
      faults += 1;
      return { ...fault, file: name, place: faults > mostPlaces ? undefined : placeOf(at) };
    };
    return { file, name, text, data, placeOf, faultAt };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new DefinitionsError(error.faults.map((fault) => ({ ...fault, file: name })));
  }
}

function formatOf(file: string): Load {
  const extension = path.extname(file);
  if (Object.hasOwn(formats, extension)) return formats[extension] as Load;
  const forms = "is no TypeScript, JavaScript, YAML or JSON";
  throw new Malformed(`${forms}: the name has to end with ${extensions.join(", ")}`);
}

function readText(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new Malformed("there is no such file");
  if (!found.isFile()) throw new Malformed("is not a file");
  if (found.size > largestBytes) throw new Malformed("is larger than 16 MiB");
  try {
    // A byte order mark, as some editors write it.
    return (readIfThere(file) ?? "").replace(/^\ufeff/, "");
  } catch (cause) {
    throw new Malformed((cause as Error).message, undefined, { cause });
  }
}
