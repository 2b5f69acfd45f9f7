/** A position in the tokens of a query. */
import { ApiError } from "#api/error.ts";
import type { Piece, Unit } from "./fold.ts";

type QueryFault =
  | "user/bad_request/invalid_analytics_query"
  | "user/bad_request/invalid_analytics_query_type"
  | "user/bad_request/invalid_analytics_table"
  | "user/bad_request/invalid_analytics_function"
  | "user/bad_request/query_range_exceeds_retention";

const codeOf = {
  syntax: "user/bad_request/invalid_analytics_query",
  type: "user/bad_request/invalid_analytics_query_type",
  table: "user/bad_request/invalid_analytics_table",
  function: "user/bad_request/invalid_analytics_function",
  retention: "user/bad_request/query_range_exceeds_retention",
} as const satisfies Record<string, QueryFault>;

export function refuse(fault: keyof typeof codeOf, detail: string): ApiError {
  return new ApiError(codeOf[fault], detail);
}

/** Splits a query into tokens. Refuses characters that no allowed token has. */
export type Token =
  /** `word`, in lower case, is compared with keywords; `text` is as it was written. */
  | { kind: "word"; text: string; word: string; at: number }
  /** A name in quotes: never a keyword. */
  | { kind: "name"; text: string; at: number }
  | { kind: "text"; text: string; at: number }
  | { kind: "number"; text: string; at: number }
  | { kind: "mark"; text: string; at: number }
  | { kind: "end"; text: ""; at: number };

export const queryBounds = { bytes: 16 * 1024, tokens: 4_000 } as const;

/** One alternative per kind of token; sticky, so that nothing in between is skipped. Comments count as space. */
const pattern =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?\*\/)|(?<strange>\/\*|#)|(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))|(?<text>'(?:[^'\\]|''|\\['\\])*')|(?<name>(?:`[^`\\]+`|"[^"\\]+")(?![`"]))|(?<mark>->|::|\|\||==|!=|<>|<=|>=|[()[\],.;<>=+\-*/%])/uy;

export function tokenize(query: string): Token[] {
  if (Buffer.byteLength(query) > queryBounds.bytes) {
    throw refuse("syntax", `The query is longer than ${queryBounds.bytes} bytes.`);
  }
  const tokens: Token[] = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < query.length) {
    const at = pattern.lastIndex;
    const token = toToken(pattern.exec(query)?.groups, at);
    if (token === "strange") throw refuse("syntax", describeStrange(query, at));
    if (token !== "space") tokens.push(token);
    if (tokens.length > queryBounds.tokens) {
      throw refuse("syntax", `The query has more than ${queryBounds.tokens} words.`);
    }
  }
  return [...tokens, { kind: "end", text: "", at: query.length }];
}

function toToken(
  groups: Record<string, string | undefined> | undefined,
  at: number,
): Token | "space" | "strange" {
  if (groups === undefined || groups["strange"] !== undefined) return "strange";
  const { word, number, text, name, mark } = groups;
  if (word !== undefined) return { kind: "word", text: word, word: word.toLowerCase(), at };
  if (number !== undefined) return { kind: "number", text: number, at };
  if (text !== undefined) return { kind: "text", text: unquote(text), at };
  if (name !== undefined) return checkedName(name.slice(1, -1), at);
  if (mark !== undefined) return { kind: "mark", text: mark, at };
  return "space";
}

function unquote(literal: string): string {
  return literal.slice(1, -1).replace(/''|\\(['\\])/g, (_, escaped?: string) => escaped ?? "'");
}

/** Any letters, digits, spaces and signs that a column heading may need. */
function checkedName(text: string, at: number): Token | "strange" {
  return /^[\p{L}\p{N} _.()%-]{1,128}$/u.test(text) ? { kind: "name", text, at } : "strange";
}

function describeStrange(query: string, at: number): string {
  const rest = query.slice(at, at + 20);
  if (rest.startsWith("/*")) return "A comment of the query has no end.";
  if (rest.startsWith("#")) return "Comments of a query begin with -- or stand between /* and */.";
  return `The query cannot be read from character ${at + 1} on: ${rest}`;
}

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

  /** Advances to the first of these words, skipping brackets and names after AS, and returns it; undefined: none. */
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

/** State shared by the readers of a query's parts. */
export type ParsedQuery = {
  nowMs: number;
  /** Reads a scalar subquery `(SELECT …)`, after its opening bracket. */
  readScalar: (cursor: Cursor) => Piece;
  /** Reads the right side of IN: a list of constants in brackets or a subquery. */
  readSet: (cursor: Cursor) => { items: Piece[] } | { rows: Piece };
  /** Called for each column and each subquery in an expression; throws where only constants are allowed. */
  recordReference: (cursor: Cursor) => void;
  /** The unit of a column of the present query's tables; undefined: it is not a time. */
  unitOf: (names: readonly string[]) => Unit | undefined;
  namedValue: (name: string) => Piece | undefined;
  /** Reads the body of a lambda, whose parameter hides a WITH's name. */
  withParameter: <Result>(name: string, read: () => Result) => Result;
  /** Notes a lower bound of `time`, unix milliseconds; undefined: not a constant. */
  recordLowerBound: (atMs: number | undefined) => void;
};
