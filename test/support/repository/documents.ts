/** The documents of the repository, read as text. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export type Document = { file: string; text: string };

/** Every Markdown file but those that packages bring along. */
export const documents: readonly Document[] = globSync("**/*.md", {
  exclude: (name) => ["node_modules", ".git", ".vedette", "dist", "coverage"].includes(name),
})
  .sort()
  .map((file) => ({ file, text: readFileSync(file, "utf8") }));

/** The text without what stands in fenced blocks. */
export function proseOf({ text }: Document): string {
  return text.replace(/^ *(`{3,})[\s\S]*?^ *\1$/gm, "");
}

/** The lines of all fenced blocks, a line that ends with a backslash joined with the next. */
export function blockLinesOf({ text }: Document): string[] {
  const blocks = [...text.matchAll(/^ *(`{3,})\w*\n([\s\S]*?)^ *\1$/gm)];
  return blocks.flatMap(([, , block = ""]) => block.replace(/\\\n\s*/g, " ").split("\n"));
}

/** Where a document leads within the repository, `target` from the repository's root. */
export type DocumentLink = { file: string; target: string; heading: string };

export function linksOf(document: Document): DocumentLink[] {
  const found = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return found
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [target = "", heading = ""] = link.split("#");
      const { file } = document;
      return {
        file,
        heading,
        target: target === "" ? file : path.join(path.dirname(file), target),
      };
    });
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(document: Document): string[] {
  return [...proseOf(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
