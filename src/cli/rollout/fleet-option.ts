/** The option `--fleet` in the commands that we propose. */

/** Each command of the text with the option; undefined: the default fleet, which needs none. */
export function withFleetOption(text: string, fleet: string | undefined): string {
  if (fleet === undefined) return text;
  return text.replace(/\bvedette rollout [a-z]+/g, (command) => `${command} --fleet ${fleet}`);
}
