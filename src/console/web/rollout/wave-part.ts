/** The percentage of a wave, in words. Pure. */

type Wave = { wave: number; percentage: number };

/** "25 %", or "25 %, part 1 of 3" where a cap per region has split the wave; a line breaks only after the comma. */
export function percentWords({ wave, percentage }: Wave, waves: readonly Wave[]): string {
  const parts = waves.filter((one) => one.percentage === percentage);
  if (parts.length < 2) return `${percentage}\u00a0%`;
  const place = parts.findIndex((one) => one.wave === wave) + 1;
  return `${percentage}\u00a0%, part\u00a0${place}\u00a0of\u00a0${parts.length}`;
}
