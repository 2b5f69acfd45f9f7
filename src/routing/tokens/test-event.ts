/** An event that proves a token and tells nobody anything: it resolves an alert that was never open. */

const title = "[test] Vedette tries out a token";
const key = "vedette-token-test";

/** The body as sources of this kind take it. */
export function testEvent(kind: "alertmanager" | "checkly" | "http", now: Date): object {
  return kind === "alertmanager" ? alertmanagerEvent(now) : plainEvent();
}

function plainEvent(): object {
  return { title, description: title, deduplication_key: key, status: "resolved", metadata: {} };
}

/** The webhook's payload, version 4, of Alertmanager. */
function alertmanagerEvent(now: Date): object {
  const labels = { alertname: "VedetteTokenTest" };
  const annotations = { summary: title };
  const at = now.toISOString();
  return {
    version: "4",
    groupKey: `{}:{alertname="${labels.alertname}"}`,
    truncatedAlerts: 0,
    status: "resolved",
    receiver: "vedette",
    groupLabels: labels,
    commonLabels: labels,
    commonAnnotations: annotations,
    externalURL: "",
    alerts: [
      {
        status: "resolved",
        labels,
        annotations,
        startsAt: at,
        endsAt: at,
        generatorURL: "",
        // 16 hex digits, as those of every alert.
        fingerprint: Buffer.from("vdttoken").toString("hex"),
      },
    ],
  };
}
