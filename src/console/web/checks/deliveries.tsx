/** The deliveries of alert events and messages, to the incident service and to channels. */
import type { AlertEventView } from "#alerts/contract.ts";
import { send } from "#console/web/api.ts";
import { duration } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Table } from "#console/web/parts/blocks.tsx";
import { ask } from "#console/web/parts/confirm.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { callerWords, eventWords } from "#kernel/words.ts";
import { retryWords } from "./retry-words.ts";

const kinds = { opened: "Failure", resolved: "Recovery", notice: "Message" } as const;

const tones: Record<AlertEventView["status"], string> = {
  accepted: "t-good",
  pending: "t-info",
  dead: "t-bad",
  superseded: "",
  not_posted: "",
};

type Props = { events: readonly AlertEventView[]; withCheck: boolean; reload: () => void };

export function Deliveries({ events, withCheck, reload }: Props) {
  return (
    <Table
      names={[...(withCheck ? ["About"] : []), "Event", "To", "When", "State", "Attempts"]}
      action={may("operate") ? "Action" : undefined}
    >
      {events.map((event) => (
        <tr key={event.event_id}>
          {withCheck && <td data-name="About">{event.name}</td>}
          <td data-name="Event">{[kinds[event.kind], event.episode ?? []].flat().join(" #")}</td>
          <td data-name="To">{event.channel}</td>
          <td data-name="When" class="nowrap">
            <Time iso={event.event_at} />
          </td>
          <td data-name="State">
            <span>
              <span class={`tag ${tones[event.status]}`}>{eventWords(event.status)}</span>
              {event.delay_ms !== null && ` after ${duration(event.delay_ms / 1_000)}`}
              {event.cause !== null && <span class="reason"> {event.cause}</span>}
              {event.retried_by != null && ` sent again by ${callerWords(event.retried_by)}`}
            </span>
          </td>
          <td data-name="Attempts">{event.attempts}</td>
          {may("operate") && (
            <td>
              {(event.status === "dead" || event.status === "pending") && (
                <button type="button" class="small" onClick={() => askRetry(event, reload)}>
                  Send again…
                </button>
              )}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

function askRetry(event: AlertEventView, reload: () => void): void {
  const what = kinds[event.kind].toLowerCase();
  ask({
    title: `Send the ${what} of ${event.name} again?`,
    lines: retryWords(event),
    verb: "Send again",
    isGrave: false,
    run: async () => {
      await send("AlertEvents/Retry", { event_id: event.event_id });
      reload();
    },
  });
}
