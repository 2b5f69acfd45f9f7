import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/rollout.css";
import "./styles/tables.css";
import "./styles/checks.css";
import "./styles/routing.css";
import "./styles/rows.css";
import "./styles/log.css";
import "./styles/fleet.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme } from "./theme.ts";
import { noteTicket } from "./ticket.ts";

noteTicket();
applyTheme();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
