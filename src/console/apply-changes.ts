/** What a page does with the changes of a rollout. Pure. */
import type { Changes, SentRollout } from "./events.ts";

/** The rollout after these changes; the same object when there are none for it. */
export function changeRollout(
  before: SentRollout,
  { rollout, waves = [], messages = [] }: Changes,
): SentRollout {
  if (rollout === undefined && waves.length === 0 && messages.length === 0) return before;
  const base = { ...before, ...rollout };
  const newWaves = new Map(waves.map((wave) => [wave.wave, wave]));
  const newMessages = new Map(messages.map((message) => [message.sequence, message]));
  const kept = base.messages.filter(({ sequence }) => !newMessages.has(sequence));
  return {
    ...base,
    waves: base.waves.map((wave) => newWaves.get(wave.wave) ?? wave),
    messages: [...kept, ...newMessages.values()].sort((a, b) => b.sequence - a.sequence),
  };
}
