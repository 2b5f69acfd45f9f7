/** Debian's rsyslogd, the real one, where it is installed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { hasNeeded } from "./programs.ts";

/** All in PEM. `clients`: the authority whose certificates clients need; absent: they need none. */
export type SyslogTls = { driver: "gtls" | "ossl"; cert: string; key: string; clients?: string };

/** A line as rsyslog's own parsers have it. `fields`: the structured data and the text that is JSON. */
export type ReceivedLine = {
  facility: string;
  severity: string;
  time: string;
  app: string;
  event: string;
  text: string;
  fields: { "rfc5424-sd"?: Record<string, Record<string, string>> } & Record<string, unknown>;
};

export function hasDriver(driver: SyslogTls["driver"]): boolean {
  const files = globSync(`/usr/lib/*/rsyslog/lmnsd_${driver}.so`);
  return hasNeeded({ [`rsyslog's driver ${driver}`]: files.length > 0 });
}

/** For the test that asks for it. It stores a line before it reads the next one, and so loses none that it has read. */
export async function startRsyslog(tls?: SyslogTls) {
  const dir = makeTempDir();
  const port = await freePort();
  const file = (name: string) => path.join(dir.path, name);
  for (const [name, text = ""] of Object.entries({ ...tls, conf: configOf(dir.path, port, tls) })) {
    writeFileSync(file(name), text);
  }
  const run = async () => {
    const child = spawn("rsyslogd", ["-n", "-f", file("conf"), "-i", file("pid")], {
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    await waitFor(() => isOpen(port), { withinMs: 10_000, what: "rsyslogd to listen" });
    return async (signal: "SIGTERM" | "SIGKILL") => {
      child.kill(signal);
      await exited;
    };
  };
  let stop = await run();
  onTestFinished(async () => {
    await stop("SIGKILL");
    dir.remove();
  });
  const readLines = (): ReceivedLine[] => {
    const text = existsSync(file("out")) ? readFileSync(file("out"), "utf8") : "";
    return text.split("\n").flatMap((line) => {
      if (line === "") return [];
      const { fields, ...parsed } = JSON.parse(line) as Record<string, string>;
      return { ...parsed, fields: JSON.parse(fields ?? "") } as ReceivedLine;
    });
  };
  return {
    port,
    readLines,
    kill: () => stop("SIGKILL"),
    start: async () => {
      stop = await run();
    },
  };
}

function configOf(dir: string, port: number, tls?: SyslogTls): string {
  const mode = tls?.clients === undefined ? "anon" : "x509/certvalid";
  const ca = tls?.clients === undefined ? "cert" : "clients";
  const module =
    tls === undefined
      ? 'module(load="imtcp")'
      : `global(defaultNetstreamDriver="${tls.driver}" defaultNetstreamDriverCAFile="${dir}/${ca}"
defaultNetstreamDriverCertFile="${dir}/cert" defaultNetstreamDriverKeyFile="${dir}/key")
module(load="imtcp" StreamDriver.Name="${tls.driver}" StreamDriver.Mode="1" StreamDriver.AuthMode="${mode}")`;
  return `global(workDirectory="${dir}")
main_queue(queue.type="Direct")
${module}
module(load="mmjsonparse")
module(load="mmpstrucdata")
template(name="parsed" type="list" option.jsonf="on") {
  property(outname="facility" name="syslogfacility" format="jsonf")
  property(outname="severity" name="syslogseverity" format="jsonf")
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="app" name="app-name" format="jsonf")
  property(outname="event" name="msgid" format="jsonf")
  property(outname="text" name="msg" format="jsonf")
  property(outname="fields" name="$!" format="jsonf")
}
input(type="imtcp" address="127.0.0.1" port="${port}")
action(type="mmpstrucdata")
action(type="mmjsonparse" cookie="")
action(type="omfile" file="${dir}/out" template="parsed" ioBufferSize="1m")
`;
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
