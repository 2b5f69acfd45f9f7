/** Pages without scripts. */
import { createHash } from "node:crypto";
import { type ErrorCode, errorCatalogue } from "#api/error.ts";
import { errorPages } from "./error-pages.ts";

const style = `
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #8884; padding: 0.4rem 0.75rem 0.4rem 0; vertical-align: top; }
a { color: inherit; }
.status { opacity: 0.7; }
`;

/** Allows nothing but our own style sheet. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page that an error's `type` links to; undefined when there is no such error. */
export function errorPage(code: string): string | undefined {
  if (!isErrorCode(code)) return undefined;
  const [status, title] = errorCatalogue[code];
  const { means, remedy } = errorPages[code];
  return page(
    title,
    `<p class="status">Status ${status} · <code>${escapeText(code)}</code></p>
<h1>${escapeText(title)}</h1>
<p>${prose(means)}</p>
<h2>What to do</h2>
<p>${prose(remedy)}</p>
<p><a href="/docs/errors">All errors</a> · <a href="/docs/">API reference</a></p>`,
  );
}

export function errorIndex(): string {
  const rows = Object.entries(errorCatalogue).map(([code, [status]]) => {
    const { means } = errorPages[code as ErrorCode];
    const link = `<a href="/docs/errors/${escapeText(code)}"><code>${escapeText(code)}</code></a>`;
    return `<tr><td>${status}</td><td>${link}<br>${prose(means)}</td></tr>`;
  });
  return page(
    "Errors",
    `<h1>Errors</h1>
<p>Every refusal has <code>error.type</code>, the address of one of these pages.</p>
<table>${rows.join("\n")}</table>
<p><a href="/docs/">API reference</a></p>`,
  );
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)} · Vedette public API</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Text in which `backticks` are code. */
function prose(text: string): string {
  return escapeText(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
