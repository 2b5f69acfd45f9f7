/**
 * Carries out the steps of a Dockerfile in folders, for machines without an engine: each stage is a
 * folder, whose paths stand in the steps for those of the image. What it does not know it refuses.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

export type Stage = {
  root: string;
  workdir: string;
  /** With paths of the folder. */
  environment: Record<string, string>;
  entrypoint: string[];
  healthCheck: string[];
};

type Step = { word: string; rest: string };

/** Folders of the image that its steps name in full. */
const imagePaths = /(?<![\w./-])\/(?=(?:app|data|usr\/local\/bin)(?:\/|\b))/g;

/** Answers the last stage. `dir` is where the folders go. */
export async function runDockerfile(file: string, dir: string): Promise<Stage> {
  const context = path.join(dir, "context");
  admitted().forEach((name) => {
    cpSync(name, path.join(context, name), { recursive: true });
  });
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const step of readSteps(file)) {
    if (step.word === "FROM") {
      const name = / AS (\w+)$/.exec(step.rest)?.[1] ?? "last";
      stage = openStage(path.join(dir, name));
      stages.set(name, stage);
    } else if (stage !== undefined) await runStep(step, { stage, stages, context });
  }
  if (stage === undefined) throw new Error(`${file} has no stage`);
  return stage;
}

/** What the build context holds: .dockerignore keeps everything out but these. Patterns are refused. */
export function admitted(text = readFileSync(".dockerignore", "utf8")): string[] {
  const [first, ...rest] = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const strange = rest.filter((line) => !/^![\w.-]+$/.test(line));
  if (first === "*" && strange.length === 0) return rest.map((line) => line.slice(1));
  throw new Error(`.dockerignore begins with * and then names what is let in, not ${strange}`);
}

function readSteps(file: string): Step[] {
  const lines = readFileSync(file, "utf8")
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n/g, " ");
  return lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [word = "", ...rest] = line.trim().split(/\s+/);
      return { word, rest: rest.join(" ") };
    });
}

function openStage(root: string): Stage {
  mkdirSync(path.join(root, "usr/local/bin"), { recursive: true });
  return { root, workdir: root, environment: {}, entrypoint: [], healthCheck: [] };
}

type Around = { stage: Stage; stages: Map<string, Stage>; context: string };

async function runStep({ word, rest }: Step, { stage, stages, context }: Around): Promise<void> {
  const inFolder = (text: string) => text.replace(imagePaths, `${stage.root}/`);
  switch (word) {
    case "ENV":
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) {
        stage.environment[name] = inFolder(value);
      }
      return;
    case "WORKDIR":
      stage.workdir = inFolder(rest);
      mkdirSync(stage.workdir, { recursive: true });
      return;
    case "COPY":
      return copy(rest, { stage, stages, context });
    case "RUN":
      return run(inFolder(rest), stage);
    case "ENTRYPOINT":
      stage.entrypoint = JSON.parse(inFolder(rest));
      return;
    case "HEALTHCHECK":
      stage.healthCheck = JSON.parse(inFolder(/CMD (\[.*\])$/.exec(rest)?.[1] ?? ""));
      return;
    case "LABEL":
    case "USER":
    case "VOLUME":
    case "EXPOSE":
    case "CMD":
      return;
    default:
      throw new Error(`this Dockerfile has a step that is not known here: ${word}`);
  }
}

function copy(rest: string, { stage, stages, context }: Around): void {
  const from = /^--from=(\w+) /.exec(rest)?.[1];
  const words = rest.replace(/^--from=\w+ /, "").split(" ");
  const strange = words.find((word) => /^--|[*?[]/.test(word));
  if (strange !== undefined) throw new Error(`a COPY with ${strange} is not known here`);
  const to = path.resolve(stage.workdir, words.at(-1) ?? "");
  for (const name of words.slice(0, -1)) {
    const source = path.join(from === undefined ? context : (stages.get(from)?.root ?? ""), name);
    const isInto = words.length > 2 || /\/$/.test(words.at(-1) ?? "");
    cpSync(source, isInto ? path.join(to, path.basename(name)) : to, { recursive: true });
  }
}

/**
 * In a shell, as an engine does; only that a test need not be root nor have the image's users, and that the
 * cache of npm is that of whoever runs it.
 */
async function run(command: string, stage: Stage): Promise<void> {
  const env = { ...cleanEnvironment(), ...stage.environment };
  const script = command
    .replace(/ -o node -g node/g, "")
    .replace(/npm cache clean --force/g, "true");
  await promisify(execFile)("sh", ["-ec", script], { cwd: stage.workdir, env });
}

/** Not what npm sets for the scripts it runs: the steps' own npm would take it for its settings. */
export function cleanEnvironment(): Record<string, string> {
  const names = ["PATH", "HOME", "NODE_EXTRA_CA_CERTS", "npm_config_cache", "npm_config_registry"];
  const own = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // What `npm ci` of this very checkout has fetched need not be fetched again.
  return { ...Object.fromEntries(own), npm_config_prefer_offline: "true" };
}
