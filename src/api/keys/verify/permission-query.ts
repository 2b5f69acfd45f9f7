/** The query on a key's permissions in a verification: names with AND, OR and parentheses. */
import { ApiError } from "#api/error.ts";

export type PermissionQuery =
  | { kind: "name"; name: string }
  | { kind: "and" | "or"; parts: PermissionQuery[] };

type Token = { text: string; at: number };

/** The parser is recursive: deeper queries are refused. */
const maxDepth = 50;

/** AND binds stronger than OR; both are case-insensitive. Throws a 400 with the position. */
export function parsePermissionQuery(query: string): PermissionQuery {
  const parser = new Parser(tokenize(query), query.length);
  return parser.parse();
}

/** True if a key with exactly `permissions` matches the query. */
export function answersQuery(query: PermissionQuery, permissions: ReadonlySet<string>): boolean {
  if (query.kind === "name") return permissions.has(query.name);
  const isMet = (part: PermissionQuery) => answersQuery(part, permissions);
  return query.kind === "and" ? query.parts.every(isMet) : query.parts.some(isMet);
}

function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:([()])|([a-zA-Z0-9_:\-.*/#]+)|(\S))/gy;
  for (const match of query.matchAll(pattern)) {
    const [, parenthesis, name, stranger] = match;
    const text = parenthesis ?? name ?? stranger ?? "";
    const at = match.index + match[0].length - text.length;
    if (stranger !== undefined) throw syntaxError(`unexpected character '${stranger}'`, at);
    tokens.push({ text, at });
  }
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #end: number;
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], end: number) {
    this.#tokens = tokens;
    this.#end = end;
  }

  parse(): PermissionQuery {
    const query = this.#joined("or");
    const rest = this.#tokens[this.#next];
    if (rest !== undefined) throw syntaxError(`unexpected '${rest.text}'`, rest.at);
    return query;
  }

  #joined(kind: "and" | "or"): PermissionQuery {
    const parse = () => (kind === "or" ? this.#joined("and") : this.#operand());
    const parts = [parse()];
    while (this.#isKeyword(kind)) {
      this.#next += 1;
      parts.push(parse());
    }
    return parts.length === 1 ? (parts[0] as PermissionQuery) : { kind, parts };
  }

  #operand(): PermissionQuery {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw syntaxError("a permission is missing at the end", this.#end);
    if (token.text === "(") return this.#parenthesized(token);
    if (token.text === ")" || this.#isKeyword("and") || this.#isKeyword("or")) {
      throw syntaxError(`expected a permission, got '${token.text}'`, token.at);
    }
    this.#next += 1;
    return { kind: "name", name: token.text };
  }

  #parenthesized(open: Token): PermissionQuery {
    this.#next += 1;
    this.#depth += 1;
    if (this.#depth > maxDepth) throw syntaxError("too many nested parentheses", open.at);
    const query = this.#joined("or");
    if (this.#tokens[this.#next]?.text !== ")") throw syntaxError("'(' is not closed", open.at);
    this.#next += 1;
    this.#depth -= 1;
    return query;
  }

  #isKeyword(keyword: "and" | "or"): boolean {
    return this.#tokens[this.#next]?.text.toLowerCase() === keyword;
  }
}

function syntaxError(what: string, at: number): ApiError {
  return new ApiError(
    "user/bad_request/permissions_query_syntax_error",
    `The permissions query is not valid: ${what} at position ${at}. Write names joined by AND and OR, with parentheses.`,
  );
}
