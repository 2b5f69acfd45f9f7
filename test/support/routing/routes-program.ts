/** A whole program over the double of the incident service, with what tests ask of its alert routes. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Plan, RoutesStatus } from "#routing/incident/contract.ts";
import { startFakeChat } from "../alerts/fake-chat.ts";
import { runVedette } from "../program/command.ts";
import { startProgram } from "../program/program.ts";
import { makeTempDir } from "../temp-dir.ts";
import { incidentKey, startIncidentServer } from "./incident-server.ts";

/** The rows of the program, in their order. */
export const routeNames = [
  "Production Alerts",
  "Production Warnings",
  "Unrouted Alerts",
  "Database Alerts",
  "Staging Notifications",
  "Informational",
];

export type RoutesProgram = Awaited<ReturnType<typeof startRoutesProgram>>;

export async function startRoutesProgram() {
  const dir = makeTempDir();
  const planFile = path.join(dir.path, "plan.json");
  const idsFile = path.join(dir.path, "ids.toml");
  writeFileSync(idsFile, '[channels]\n"#alerts" = "C0123"\n');
  const incident = await startIncidentServer();
  const chat = await startFakeChat();
  const settings = () => ({
    VEDETTE_INCIDENT__URL: incident.url,
    VEDETTE_INCIDENT__API_KEY: incidentKey,
    VEDETTE_INCIDENT__IDS_FILE: idsFile,
    VEDETTE_INCIDENT__LIST_LAG_SECONDS: "4",
  });
  const program = await startProgram({
    ...settings(),
    VEDETTE_SLACK__ALERT_ROUTES_WEBHOOK_URL: chat.url,
    VEDETTE_SLACK__MESSAGE_SPACING_MS: "20",
  });
  const call = async (handler: string, body: unknown = {}) => {
    const { control } = program.endpoints();
    const answer = await fetch(`${control}/vedette.v1.AlertRoutes/singleton/${handler}`, {
      method: "POST",
      headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
  return {
    incident,
    chat,
    program,
    /** Where `plan --out` is to write. */
    planFile,
    savedPlan: () => JSON.parse(readFileSync(planFile, "utf8")) as Plan,
    /** Runs `vedette alerts`. */
    run: (...args: string[]) =>
      runVedette(["alerts", ...args], { ...settings(), VEDETTE_DATA_DIR: program.dataDir }),
    /** Calls a handler of the routes' object. */
    call,
    status: async () => RoutesStatus.parse((await call("Status")).body),
    /** The only route of this name at the incident service. */
    routeNamed: (name: string) => {
      const routes = [...incident.double.routes.values()];
      const [found, ...others] = routes.filter(({ content }) => content["name"] === name);
      if (found === undefined || others.length > 0) {
        throw new Error(`${found === undefined ? 0 : others.length + 1} of ${name}`);
      }
      return found;
    },
    stop: async () => {
      await program.dispose();
      await incident.stop();
      await chat.stop();
      dir.remove();
    },
  };
}
