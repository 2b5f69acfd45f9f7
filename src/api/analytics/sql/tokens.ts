/** Splits a query into tokens. Refuses characters that no allowed token has. */
import { refuse } from "./refusal.ts";

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

/**
 * One alternative per kind of token; sticky, so that nothing between two tokens is skipped. Comments count as
 * space: they separate words, and are dropped.
 */
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
