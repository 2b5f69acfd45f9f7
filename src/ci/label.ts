/** Whether an image has the labels that the settings ask for. Pure. */
import { cleanText } from "#kernel/clean-text.ts";
import type { Finding } from "./finding.ts";

export function judgeLabels(
  labels: ReadonlyMap<string, string>,
  wanted: Readonly<Record<string, string>>,
): Finding {
  const names = Object.keys(wanted);
  const other = names.filter((name) => labels.has(name) && labels.get(name) !== wanted[name]);
  if (other.length > 0) {
    const found = other.map((name) => `${name}=${cleanText(labels.get(name) ?? "", 60)}`);
    return { result: "failed", detail: `the image has ${found.join(", ")}` };
  }
  const absent = names.filter((name) => !labels.has(name));
  if (absent.length > 0) {
    return { result: "missing", detail: `the image has no label ${absent.join(", ")}` };
  }
  return { result: "passed", detail: `the image has ${names.join(", ")}` };
}
