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

/** Replaces control characters: reasons quote the output of other programs, which must not control the terminal. */
export function plain(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ");
}
