export type ExportedFile = { path: string; text: string };

/** The first comment of every exported file whose format has comments. */
export const origin = "Written by `vedette checks export`: change the definitions, not this file.";
