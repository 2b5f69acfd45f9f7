/** An event that tests a token and notifies nobody: it resolves an alert that was never open. */

const title = "[test] Vedette tests a token";
const key = "vedette-token-test";

/** The body in the format of the source's kind. */
export function testEvent(kind: "alertmanager" | "checkly" | "http", now: Date): object {
  return kind === "alertmanager" ? alertmanagerEvent(now) : plainEvent();
}

function plainEvent(): object {
  return { title, description: title, deduplication_key: key, status: "resolved", metadata: {} };
}

/** The payload of Alertmanager's webhook, version 4. */
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
        // 16 hex digits, as in every alert of Alertmanager.
        fingerprint: Buffer.from("vdttoken").toString("hex"),
      },
    ],
  };
}
