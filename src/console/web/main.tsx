import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/rollout.css";
import "./styles/tables.css";
import "./styles/compare.css";
import "./styles/checks.css";
import "./styles/routing.css";
import "./styles/rows.css";
import "./styles/log.css";
import "./styles/fleet.css";
import "uplot/dist/uPlot.min.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { noteTicket } from "./session.ts";
import { applyTheme } from "./theme.ts";

// Here, because a chart that is loaded a second time would not ask for its style again.

noteTicket();
applyTheme();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
