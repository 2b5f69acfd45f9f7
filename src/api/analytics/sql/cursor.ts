/** A position in the tokens of a query. */
import type { ApiError } from "#api/error.ts";
import { refuse } from "./refusal.ts";
import type { Token } from "./tokens.ts";

/** Deepest nesting of expressions and subqueries. */
const maxDepth = 40;

export class Cursor {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(ahead = 0): Token {
    return (this.#tokens[this.#at + ahead] ?? this.#tokens.at(-1)) as Token;
  }

  next(): Token {
    const token = this.peek();
    this.#at += 1;
    return token;
  }

  isWord(...words: string[]): boolean {
    return words.every((word, ahead) => {
      const token = this.peek(ahead);
      return token.kind === "word" && token.word === word;
    });
  }

  isMark(mark: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "mark" && token.text === mark;
  }

  /** Takes these words if they are next. */
  takeWord(...words: string[]): boolean {
    if (!this.isWord(...words)) return false;
    this.#at += words.length;
    return true;
  }

  takeMark(mark: string): boolean {
    if (!this.isMark(mark)) return false;
    this.#at += 1;
    return true;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) throw this.unexpected(word.toUpperCase());
  }

  expectMark(mark: string): void {
    if (!this.takeMark(mark)) throw this.unexpected(mark);
  }

  /** A whole number of at most nine digits. */
  takeCount(): string {
    const token = this.peek();
    if (token.kind !== "number" || !/^\d{1,9}$/.test(token.text)) {
      throw this.unexpected("a whole number");
    }
    this.next();
    return token.text;
  }

  /** The present position, for `goTo`. */
  place(): number {
    return this.#at;
  }

  goTo(place: number): void {
    this.#at = place;
  }

  /**
   * Advances to the first of these words in the present query, skipping everything in brackets and names
   * after AS, and returns it; undefined: there is none.
   */
  skipTo(words: readonly string[]): string | undefined {
    for (let depth = 0; depth >= 0 && this.peek().kind !== "end"; this.next()) {
      if (depth === 0) {
        const found = words.find((word) => this.isWord(word));
        if (found !== undefined) return found;
      }
      if (this.isWord("as") && this.peek(1).kind === "word") this.next();
      depth += this.#bracketStep();
    }
    return undefined;
  }

  #bracketStep(): number {
    if (this.isMark("(") || this.isMark("[")) return 1;
    return this.isMark(")") || this.isMark("]") ? -1 : 0;
  }

  /** The refusal of the next token. */
  unexpected(wanted: string): ApiError {
    const token = this.peek();
    // WITH alone does not say which of its clauses is not supported.
    const words = this.isWord("with") ? `${token.text} ${this.peek(1).text}` : token.text;
    const found = token.kind === "end" ? "the end of the query" : words;
    return refuse("syntax", `Expected ${wanted} at character ${token.at + 1}, found ${found}.`);
  }

  /** Runs a recursive step, within the maximum depth. */
  nested<Result>(work: () => Result): Result {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw refuse("syntax", "The query is nested too deep.");
    const result = work();
    this.#depth -= 1;
    return result;
  }

  /** Items separated by commas. */
  list<Item>(item: () => Item): Item[] {
    const items = [item()];
    while (this.takeMark(",")) items.push(item());
    return items;
  }
}
