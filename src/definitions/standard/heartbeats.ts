/**
 * The heartbeats of Vedette's own jobs (docs/monitoring.md). Those of staging watch the jobs of another
 * installation, which pings them by their URLs.
 */
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export const heartbeats: readonly HeartbeatRow[] = [
  {
    id: "certificate-workflow",
    name: "Certificate Workflow",
    environment: "production",
    watches: "certificate renewal cron job",
    periodSeconds: day,
    graceSeconds: 2 * hour,
    job: "certificate-renewal",
    dependsOn: [],
    channels: ["production"],
  },
  {
    id: "workflows-refill",
    name: "Workflows: Refill",
    environment: "production",
    watches: "key refill cron job",
    periodSeconds: day,
    graceSeconds: hour,
    job: "key-refill",
    dependsOn: [],
    channels: [],
  },
  {
    id: "workflows-count-keys",
    name: "Workflows: Count Keys",
    environment: "production",
    watches: "count-keys job",
    periodSeconds: 5 * minute,
    graceSeconds: minute,
    job: "count-keys",
    dependsOn: [],
    channels: [],
  },
  {
    id: "quota-check",
    name: "Quota Check",
    environment: "production",
    watches: "quota check cron job",
    periodSeconds: day,
    graceSeconds: hour,
    job: "quota-check",
    dependsOn: [],
    channels: [],
  },
  {
    id: "certificate-workflow-staging",
    name: "Certificate Workflow (Staging)",
    environment: "staging",
    watches: "certificate renewal cron job",
    periodSeconds: day,
    graceSeconds: 2 * hour,
    dependsOn: [],
    channels: ["staging"],
  },
  {
    id: "key-refill-staging",
    name: "Key Refill (Staging)",
    environment: "staging",
    watches: "key refill cron job",
    periodSeconds: day,
    graceSeconds: hour,
    dependsOn: [],
    channels: ["staging"],
  },
  {
    id: "quota-check-staging",
    name: "Quota Check (Staging)",
    environment: "staging",
    watches: "quota check cron job",
    periodSeconds: day,
    graceSeconds: hour,
    dependsOn: [],
    channels: ["staging"],
  },
];
