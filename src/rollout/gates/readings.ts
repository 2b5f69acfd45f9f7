/** Records readings of the gates that count them. Pure. */
import type { GateState, Reading } from "./contract.ts";
import type { Found } from "./kind.ts";

/** The readings that are shown. */
const shown = 10;

export function withReading(state: GateState, found: Found): GateState {
  if (!("reading" in found)) return state;
  const { reading } = found;
  const { all, pass, fail } = state.count;
  return {
    ...state,
    readings: [...state.readings, reading].slice(-shown),
    count: {
      all: all + 1,
      pass: pass + Number(reading.verdict === "pass"),
      fail: fail + Number(reading.verdict === "fail"),
    },
  };
}

export function lastReading({ readings }: GateState): Reading | undefined {
  return readings.at(-1);
}
