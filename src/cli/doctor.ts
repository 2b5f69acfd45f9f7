/** `vedette doctor`: what an installation lacks, with the next command of each. */
import { styleText } from "node:util";
import { examine, type Finding } from "#app/doctor.ts";
import type { DatabaseOptions } from "./options.ts";
import { printAnswer } from "./print.ts";
import { plain } from "./table.ts";

const colours = { ok: "green", warning: "yellow", fault: "red", unknown: "cyan" } as const;

/** Exit code 0: no fault; 1: there is one. Warnings are none. */
export async function runDoctor(options: DatabaseOptions): Promise<number> {
  const findings = await examine(options);
  printAnswer({ findings }, options.json, () => findings.map(describe).join("\n"));
  return findings.some(({ grade }) => grade === "fault") ? 1 : 0;
}

function describe({ about, grade, text, next }: Finding): string {
  const mark = styleText(colours[grade], grade.padEnd(7), { stream: process.stdout });
  const step =
    next === undefined ? "" : `\n          ${plain(next.replace(/^vedette /, "npx vedette "))}`;
  return `${mark}   ${plain(about)}: ${plain(text)}${step}`;
}
