/** A file of an export; `path` is relative to its directory, with `/`. */
export type ExportedFile = { path: string; text: string };

/** What every exported file that can have a comment begins with. */
export const origin = "Written by `vedette checks export`: change the definitions, not this file.";
