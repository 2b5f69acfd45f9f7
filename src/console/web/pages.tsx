/** Every page, its address and its entry in the navigation. */
import type { FunctionComponent } from "preact";
import { Outdated, useLoaded } from "./lazy.tsx";
import { CheckPage } from "./pages/check.tsx";
import { ChecksPage } from "./pages/checks.tsx";
import { FleetPage } from "./pages/fleet.tsx";
import { HistoryPage } from "./pages/history.tsx";
import { PinsPage } from "./pages/pins.tsx";
import { PromotionsPage } from "./pages/promotions.tsx";
import { RolloutPage } from "./pages/rollout.tsx";
import { SentinelPage } from "./pages/sentinel.tsx";
import { StartPage } from "./pages/start.tsx";
import { WindowsPage } from "./pages/windows.tsx";
import { Waiting } from "./parts/blocks.tsx";

type Route = {
  title: string;
  /** The entry of the navigation that it belongs to. */
  section: string;
  matches: (path: string) => boolean;
  /** Its address in the navigation; absent: it is reached from another page. */
  nav?: string;
  /** True if the navigation has it only where there are several fleets. */
  needsFleets?: true;
  Page: FunctionComponent;
};

const below = (start: string) => (path: string) => path.startsWith(start);
const twoBelow = (start: string) => (path: string) =>
  path.startsWith(start) && path.slice(start.length).includes("/");
const at = (wanted: string) => (path: string) => path === wanted;

/** A page that is loaded when it is opened: few are, and nobody begins there. */
function later(load: () => Promise<{ Page: FunctionComponent }>): FunctionComponent {
  return () => {
    const { loaded, isRetrying, isOutdated } = useLoaded(load);
    if (loaded !== undefined) return <loaded.Page />;
    if (isOutdated) return <Outdated what="The page" />;
    const error = isRetrying
      ? "The server does not answer. It is tried again by itself."
      : undefined;
    return <Waiting error={error} />;
  };
}

const Compare = later(async () => ({ Page: (await import("./pages/compare.tsx")).ComparePage }));
const Engine = later(async () => ({ Page: (await import("./pages/engine.tsx")).EnginePage }));
const Keys = later(async () => ({ Page: (await import("./pages/keys.tsx")).KeysPage }));
const Routes = later(async () => ({ Page: (await import("./pages/routes.tsx")).RoutesPage }));
const PastRollout = later(async () => ({
  Page: (await import("./pages/past-rollout.tsx")).PastRolloutPage,
}));

export const routes: readonly Route[] = [
  { title: "Rollout", section: "rollout", nav: "/", matches: at("/"), Page: RolloutPage },
  { title: "Start", section: "rollout", matches: at("/start"), Page: StartPage },
  { title: "Fleet", section: "fleet", nav: "/fleet", matches: at("/fleet"), Page: FleetPage },
  { title: "Sentinel", section: "fleet", matches: below("/fleet/"), Page: SentinelPage },
  {
    title: "Windows",
    section: "windows",
    nav: "/windows",
    matches: at("/windows"),
    Page: WindowsPage,
  },
  { title: "Pins", section: "pins", nav: "/pins", matches: at("/pins"), Page: PinsPage },
  {
    title: "Promotions",
    section: "promotions",
    nav: "/promotions",
    needsFleets: true,
    matches: at("/promotions"),
    Page: PromotionsPage,
  },
  {
    title: "History",
    section: "history",
    nav: "/history",
    matches: at("/history"),
    Page: HistoryPage,
  },
  { title: "Two rollouts", section: "history", matches: twoBelow("/history/"), Page: Compare },
  { title: "Past rollout", section: "history", matches: below("/history/"), Page: PastRollout },
  { title: "Checks", section: "checks", nav: "/checks", matches: at("/checks"), Page: ChecksPage },
  {
    title: "Alert routes",
    section: "routes",
    nav: "/routes",
    matches: at("/routes"),
    Page: Routes,
  },
  { title: "Keys", section: "keys", nav: "/keys", matches: at("/keys"), Page: Keys },
  { title: "Engine", section: "engine", nav: "/engine", matches: at("/engine"), Page: Engine },
  { title: "Check", section: "checks", matches: below("/checks/"), Page: CheckPage },
];
