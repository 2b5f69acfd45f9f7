/** Every page, its address and its place in the navigation. */
import type { FunctionComponent } from "preact";
import { CheckPage } from "./pages/check.tsx";
import { ChecksPage } from "./pages/checks.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { RolloutPage } from "./pages/rollout.tsx";
import { RoutesPage } from "./pages/routes.tsx";
import { StartPage } from "./pages/start.tsx";

type Route = {
  title: string;
  /** Which entry of the navigation it belongs to. */
  section: string;
  matches: (path: string) => boolean;
  /** Its address in the navigation; absent: it is reached from another page. */
  nav?: string;
  Page: FunctionComponent;
};

const below = (start: string) => (path: string) => path.startsWith(start);
const at = (wanted: string) => (path: string) => path === wanted;

export const routes: readonly Route[] = [
  { title: "Rollout", section: "rollout", nav: "/", matches: at("/"), Page: RolloutPage },
  { title: "Start", section: "rollout", matches: at("/start"), Page: StartPage },
  { title: "Checks", section: "checks", nav: "/checks", matches: at("/checks"), Page: ChecksPage },
  {
    title: "Alert routes",
    section: "routes",
    nav: "/routes",
    matches: at("/routes"),
    Page: RoutesPage,
  },
  { title: "Keys", section: "keys", nav: "/keys", matches: at("/keys"), Page: KeysPage },
  { title: "Check", section: "checks", matches: below("/checks/"), Page: CheckPage },
];
