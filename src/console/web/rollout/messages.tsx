import { Panel } from "#console/web/parts/blocks.tsx";
import { Sign, type Tone } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import type { MessageView } from "#rollout/history/contract.ts";

const tones: Record<MessageView["tone"], Tone> = {
  info: "info",
  success: "good",
  warning: "warn",
  danger: "bad",
};

export function Messages({ messages }: { messages: MessageView[] }) {
  return (
    <Panel title="Messages" note="newest first">
      {messages.length === 0 && <p class="quiet">No messages yet.</p>}
      <ol class="messages">
        {messages.map((message) => (
          <li key={message.sequence}>
            <Sign tone={tones[message.tone]} />
            <div class="body">
              <b>{message.title}</b>
              {message.lines.map((line) => (
                <p key={line}>{line}</p>
              ))}
              <Delivery {...message.delivery} />
            </div>
            <Time iso={message.at} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

const outcomes: Record<MessageView["delivery"]["outcome"], [Tone, string]> = {
  queued: ["mute", "Waiting to be sent"],
  sending: ["warn", "Not accepted yet, being retried"],
  delivered: ["good", "Delivered to the chat"],
  dropped: ["mute", "Not sent: no chat is set up"],
  refused: ["bad", "Refused by the chat"],
  given_up: ["bad", "Not delivered in time"],
};

function Delivery({ outcome, attempts, detail }: MessageView["delivery"]) {
  const [tone, words] = outcomes[outcome];
  if (outcome === "dropped") return null;
  return (
    <p>
      <span class={`tag t-${tone}`}>{words}</span>
      {attempts > 1 && ` after ${attempts} attempts`}
      {detail !== null && outcome !== "delivered" && ` · ${detail}`}
    </p>
  );
}
