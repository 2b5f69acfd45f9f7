/**
 * Removes the escape sequences of terminals (ECMA-48). Node's own function takes time by the square of the length for a
 * text that is made for it, and a log may be written by somebody hostile.
 */

const esc = "\u001b";

/** Titles, links and other strings with their ends. None reaches into the next one, so that no text is read twice. */
const strings = `(?:${esc}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\n${esc}\u0090\u0098\u009c-\u009f]*(?:\u0007|\u009c|${esc}\\\\)`;

/** Colours and movements of the cursor; what is left of one that was cut, too. */
const controls = `(?:${esc}\\[|\u009b)[0-?]*[ -/]*[@-~]?`;

/** Character sets, modes of keys, saved positions, a reset: no letter that the name of a secret begins with. */
const others = `${esc}(?:[ #%(-/][0-~]|[0-9<=>DEHMNOZ\\\\]|c(?![a-z]))`;

const sequences = new RegExp(`${strings}|${controls}|${others}`, "g");

export function stripEscapes(text: string): string {
  return text.replace(sequences, "");
}
