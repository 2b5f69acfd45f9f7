/** One deploy, step by step: what the driver says, written down, as an answer. */
import type { ReasonCode } from "./contract.ts";
import {
  type DeployOrder,
  type Driver,
  type Observation,
  UnreachableError,
} from "./drivers/driver.ts";
import type { FleetStore } from "./store.ts";

export type DeployStep = {
  status: "progressing" | "ready" | "failed";
  reason?: string;
  /** The driver has not taken the order yet: the next look gives it again. */
  isPending?: boolean;
};

/** Why a deploy looks at its sentinel again. */
type ObserveCause = "poll" | "pushed" | "deadline";

export type Deployer = {
  /** Starts the deploy and looks once. Repeating it changes nothing. */
  begin: (order: DeployOrder) => Promise<DeployStep>;
  /** Looks again; `isPending` is what the step before said. */
  observe: (order: DeployOrder, cause: ObserveCause, isPending: boolean) => Promise<DeployStep>;
  /** Writes down that the deploy ended without a result. */
  abandon: (sentinelId: string, image: string, reason: string) => Promise<void>;
};

type Look = Observation & { isPending?: boolean };

/** Trouble with the driver is an answer, trouble with the database is thrown and tried again. */
export function createDeployer(driver: Driver, store: FleetStore): Deployer {
  const look = async (order: DeployOrder, mustApply: boolean): Promise<Look> => {
    let isPending = mustApply;
    try {
      if (mustApply) {
        const { failure } = await driver.apply(order);
        if (failure !== undefined) return { status: "failed", reason: failure };
        isPending = false;
      }
      return await driver.observe(order);
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      return { status: "progressing", reason: error.message, isPending };
    }
  };

  const settle = async (order: DeployOrder, look: Look): Promise<DeployStep> => {
    const { status, reason, running_image, isPending = false } = look;
    if (status !== "progressing") {
      const runningImage = status === "ready" ? order.image : running_image;
      const { sentinelId: id, image } = order;
      await store.record({ id, image, status, reason, runningImage });
    }
    return { status, isPending, ...(reason !== undefined && { reason }) };
  };

  return {
    async begin(order) {
      await store.record({ id: order.sentinelId, image: order.image, status: "progressing" });
      return settle(order, await look(order, true));
    },

    async observe(order, cause, isPending) {
      return settle(order, judge(await look(order, isPending), cause));
    },

    async abandon(sentinelId, image, reason) {
      await store.abandon({ id: sentinelId, image, reason });
    },
  };
}

/**
 * A push counts as the fleet's own word that this image runs, unless the driver knows of a failure;
 * past the deadline what is not ready has failed.
 */
export function judge(look: Look, cause: ObserveCause): Look {
  if (look.status !== "progressing" || cause === "poll") return look;
  if (cause === "pushed") return { ...look, status: "ready" };
  return { ...look, status: "failed", reason: deadlineReason(look) };
}

function deadlineReason({ reason, isPending = false }: Look): string {
  if (reason === undefined) {
    return `${"progress_deadline" satisfies ReasonCode}: the sentinel was not ready in time`;
  }
  // What took no order still runs what it ran; what took it and then fell silent may run either.
  return isPending ? reason : `${"timeout_unknown" satisfies ReasonCode}: ${reason}`;
}
