/** Resolves the names in a query while it is read. */
import type { Piece, Unit } from "./fold.ts";
import type { Units } from "./units.ts";

type NamedItem = { query: string; units: Units } | { value: Piece };

/** The scope of one SELECT: its sources and its aliases. */
export class Scope {
  readonly #sources = new Map<string, Units>();
  readonly #aliases = new Map<string, Unit | undefined>();
  /** The units of the columns that it returns. */
  readonly answered = new Map<string, Unit>();

  addSource(name: string, units: Units): void {
    this.#sources.set(name, units);
  }

  addAlias(name: string, unit: Unit | undefined): void {
    this.#aliases.set(name, unit);
  }

  /** `column` or `source.column`. */
  unitOf(names: readonly string[]): Unit | undefined {
    const [first = "", second] = names;
    if (second !== undefined) return this.#sources.get(first)?.get(second);
    if (this.#aliases.has(first)) return this.#aliases.get(first);
    return [...this.#sources.values()].find((units) => units.has(first))?.get(first);
  }

  answerAll(source?: string): void {
    for (const [name, units] of this.#sources) {
      if (source !== undefined && source !== name) continue;
      for (const [column, unit] of units) this.answered.set(column, unit);
    }
  }
}

/** The names of the WITHs of the present query and of the enclosing ones. */
export class Names {
  readonly #given: Map<string, NamedItem>[] = [];
  readonly #parameters: string[] = [];
  #count = 0;

  /** Opens the scope of one query; the returned function closes it. */
  enter(): () => void {
    this.#given.push(new Map());
    return () => this.#given.pop();
  }

  /** A unique name, for the n-th query or value. */
  next(kind: "query" | "value"): string {
    this.#count += 1;
    return `named ${kind} ${this.#count}`;
  }

  set(name: string, named: NamedItem): void {
    this.#given.at(-1)?.set(name, named);
  }

  find(name: string): NamedItem | undefined {
    return this.#given.findLast((names) => names.has(name))?.get(name);
  }

  valueOf(name: string): Piece | undefined {
    const found = this.#parameters.includes(name) ? undefined : this.find(name);
    return found !== undefined && "value" in found ? found.value : undefined;
  }

  withParameter<Result>(name: string, read: () => Result): Result {
    this.#parameters.push(name);
    const result = read();
    this.#parameters.pop();
    return result;
  }
}
