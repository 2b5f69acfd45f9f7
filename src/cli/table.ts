/** Tables for people. */
import Table from "cli-table3";

const noBorders = Object.fromEntries(
  ["top", "bottom", "left", "right"].flatMap((side) =>
    ["", "-mid", "-left", "-right"].map((part): [string, string] => [`${side}${part}`, ""]),
  ),
);

export function createTable(head: string[]) {
  return new Table({
    head,
    chars: { ...noBorders, mid: "", "mid-mid": "", "left-mid": "", "right-mid": "", middle: "  " },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
}

/** Reasons quote what broken programs said: nothing of it may steer the terminal. */
export function plain(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ");
}
