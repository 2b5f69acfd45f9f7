/** The answers of an engine, as far as read (Docker Engine API, https://docs.docker.com/reference/api/engine/). */
import { z } from "zod";
import { listOf, many, Texts } from "#kernel/setting.ts";

/** More containers than one host runs. */
const maxContainers = 20_000;

/** The name of a container, which has a slash before it. */
const Name = z.string().transform((name) => name.replace(/^\//, ""));

export const ContainerList = listOf(
  z
    .object({
      Id: z.string().min(1),
      /** Its own, and those that links give it, which have another container's before them. */
      Names: many(Name),
      /** The name that the container was created with; the id, when it stands for another image by now. */
      Image: z.string(),
      ImageID: z.string(),
      State: z.string(),
      /** A state in words: `Up 2 minutes (healthy)`. */
      Status: z.string(),
      Labels: Texts,
    })
    .transform(({ Names, ...rest }) => ({
      ...rest,
      Name: Names.find((name) => !name.includes("/")) ?? "",
    })),
  maxContainers,
);

/** `GET /images/{name}/json`. `Config`: what a container inherits. */
export const ImageInfo = z.object({
  Id: z.string(),
  RepoTags: many(z.string()),
  RepoDigests: many(z.string()),
  Config: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((config) => config ?? {}),
});
export type ImageInfo = z.infer<typeof ImageInfo>;

const RestartPolicy = z.object({
  Name: z.string().default(""),
  MaximumRetryCount: z.number().default(0),
});
export type RestartPolicy = z.infer<typeof RestartPolicy>;

const Endpoint = z.looseObject({
  IPAMConfig: z
    .looseObject({ IPv4Address: z.string().optional(), IPv6Address: z.string().optional() })
    .nullish(),
  Aliases: z.array(z.string()).nullish(),
});
export type Endpoint = z.infer<typeof Endpoint>;

const Mount = z.looseObject({
  Type: z.string().default(""),
  Name: z.string().default(""),
  Destination: z.string().default(""),
});

export const ContainerInfo = z.object({
  Id: z.string().min(1),
  Name,
  Image: z.string(),
  RestartCount: z.number().default(0),
  State: z.object({
    Status: z.string(),
    Running: z.boolean(),
    Restarting: z.boolean().default(false),
    OOMKilled: z.boolean().default(false),
    ExitCode: z.number().default(0),
    Error: z.string().default(""),
    StartedAt: z.string().default(""),
    FinishedAt: z.string().default(""),
    Health: z
      .object({
        Status: z.string(),
        FailingStreak: z.number().default(0),
        Log: many(z.object({ ExitCode: z.number(), Output: z.string().default("") })),
      })
      .nullish(),
  }),
  Config: z.looseObject({ Image: z.string(), Labels: Texts }),
  HostConfig: z.looseObject({
    NetworkMode: z.string().default(""),
    RestartPolicy: RestartPolicy.nullish().transform((policy) => policy ?? RestartPolicy.parse({})),
  }),
  Mounts: many(Mount),
  NetworkSettings: z.object({
    Networks: z
      .record(z.string(), Endpoint)
      .nullish()
      .transform((networks) => networks ?? {}),
  }),
});
export type ContainerInfo = z.infer<typeof ContainerInfo>;

export const Refusal = z.object({ message: z.string() });

/** A line of a pull's progress that tells an error. */
export const PullError = z.object({
  error: z.string().optional(),
  errorDetail: z.object({ message: z.string() }).optional(),
});
