/**
 * Prometheus (3.5 and newer), its blackbox exporter (0.28 and newer) and Alertmanager (0.33 and newer) of the next Debian,
 * beside those that are installed.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const cache = path.resolve("node_modules/.cache");
const suite = "forky";
const kept = path.join(cache, `tools-${suite}`);
const packages = [
  "prometheus",
  "promtool",
  "prometheus-alertmanager",
  "prometheus-blackbox-exporter",
];

type Newer = { programs: string; missing?: undefined } | { programs?: undefined; missing: string };

/** The directory of their programs, which are downloaded once; or why they cannot be had. */
export async function findNewerTools(): Promise<Newer> {
  const programs = path.join(kept, "usr/bin");
  try {
    if (!existsSync(programs)) await download();
    for (const program of ["prometheus", "promtool", "amtool", "prometheus-blackbox-exporter"]) {
      await run(path.join(programs, program), ["--version"], { timeout: 10_000 });
    }
    return { programs };
  } catch (error) {
    return { missing: (error as Error).message.split("\n")[0] ?? "" };
  }
}

/** By apt, which checks Debian's signature, with lists and a cache of its own: nothing is installed. */
async function download(): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(path.join(cache, "apt-"));
  try {
    const apt = ["apt-get", ...(await privateOptions(directory))];
    await within(directory, [...apt, "update"]);
    await within(directory, [...apt, "download", ...packages]);
    await within(directory, [
      "sh",
      "-c",
      "for deb in *.deb; do dpkg-deb -x $deb root || exit; done",
    ]);
    // Another test file may have been faster.
    if (!existsSync(kept)) renameSync(path.join(directory, "root"), kept);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function privateOptions(directory: string): Promise<string[]> {
  const format = "$(REPO_URI) $(CODENAME)";
  const { stdout } = await run("apt-get", ["indextargets", "--format", format]);
  const mirror = /^(\S+) bookworm$/m.exec(stdout)?.[1] ?? "http://deb.debian.org/debian";
  const key = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
  const sources = path.join(directory, "sources.list");
  writeFileSync(sources, `deb [${key}] ${mirror} ${suite} main\n`);
  for (const name of ["lists", "cache"]) mkdirSync(path.join(directory, name));
  return [
    `Dir::Etc::sourcelist=${sources}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${directory}/lists`,
    `Dir::Cache=${directory}/cache`,
    "Acquire::Retries=3",
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
}

async function within(directory: string, [program = "", ...args]: string[]): Promise<void> {
  await run(program, args, { cwd: directory, timeout: 120_000 });
}
