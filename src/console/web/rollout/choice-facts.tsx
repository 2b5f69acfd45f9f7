/** Which sentinels a rollout takes, and in which order. */
import type { RolloutStatus } from "#rollout/contract.ts";
import { choiceFacts } from "./choice-words.ts";

/** Nothing for a rollout that takes them all, every region in proportion. */
export function ChoicePanel({ policy = {} }: Pick<RolloutStatus, "policy">) {
  const facts = choiceFacts(policy);
  if (facts.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="choice-title">
      <h2 id="choice-title">Choice and order</h2>
      <dl class="facts">
        {facts.map(([name, words]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
