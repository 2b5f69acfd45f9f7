/** The looks of a soak, in minutes from its start, and how much each may add. Pure. */

/** Each of the first minutes, then whenever a tenth more of the soak has passed. `look`: 0 before the first. */
export function nextLook(look: number): number {
  return look < 10 ? look + 1 : Math.ceil((look * 11) / 10);
}

/**
 * The share of a wave's evidence that a look at this minute has, all of which sum to at most 1 however long the soak
 * lasts. `previous` is the look before: one that was missed leaves its share to the next.
 */
export function weightOfLook(look: number, previous: number, soakMinutes: number): number {
  return spentUntil(look, soakMinutes) - spentUntil(previous, soakMinutes);
}

/** A tenth is for minutes after the planned soak. */
function spentUntil(minute: number, soakMinutes: number): number {
  const planned = Math.max(1, soakMinutes);
  if (minute <= planned) return (0.9 * Math.log1p(minute)) / Math.log1p(planned);
  return 0.9 + 0.1 * (1 - 1 / (1 + Math.log(minute / planned)));
}
