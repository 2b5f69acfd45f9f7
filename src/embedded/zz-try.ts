import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { createLog } from "#kernel/log.ts";
const dir = process.argv[2]!; const log = createLog({level: process.argv[3] ?? "info", format:"json"});
const dir0=dir; let t=Date.now(); const lap=(w:string)=>{console.log(w, Date.now()-t,"ms"); t=Date.now()};
const p = await startPostgres({dataDir: dir, port: 0, password: "pw", log}); lap("pg up "+p.pid()); { const {readFileSync}=await import("node:fs"); console.log(readFileSync("/proc/"+p.pid()+"/status","utf8").match(/Uid.*|Cap(Eff|Prm|Amb).*/g)) }
const r = await startRestate({dataDir: dir, ingressPort:0, adminPort:0, log}); lap("restate up "+r.pid());
for (const s of [p, r]) { const old=s.pid(); process.kill(old,"SIGKILL"); while(s.pid()===old) await new Promise(r=>setTimeout(r,5)); lap("restarted "+s.pid()); }
await p.stop(); lap("pg stop"); await r.stop(); lap("restate stop");
