// Writes the samples with inline history; README.md says what is planted. Seeded: run again, it writes the same.
//     node subworkflows/intelligence_engine/samples/generate.mjs
import { writeFileSync } from "node:fs";

/** mulberry32 */
function dice(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const now = Date.parse("2026-03-18T18:00:00Z"); // a Wednesday
const hour = 3_600_000;

/** 192 hours of one type; `change(execution, hoursAgo)` plants what is planted, or drops the execution with false. */
function history(number, type, shape, change = () => true) {
  const unit = dice(1000 + number);
  const normal = () => Math.sqrt(-2 * Math.log(1 - unit())) * Math.cos(2 * Math.PI * unit());
  const made = [];
  for (let at = now - 192 * hour; at < now; at += hour * shape.every) {
    const created = at + unit() * hour * shape.every * 0.5;
    const items = 8 + Math.floor(unit() * 5);
    const failed = unit() < shape.failures;
    const execution = {
      execution_id: `00000000-0000-4000-8000-${String(number * 100000 + made.length).padStart(12, "0")}`,
      workflow_type: type,
      status: failed ? "dead" : "completed",
      reason: failed ? "attempts_exhausted" : null,
      retry_count: failed ? 3 : unit() < shape.retries ? 1 : 0,
      metrics: {
        duration_ms: Math.round(shape.duration * Math.exp(0.25 * normal())),
        cost_usd: (shape.cost * items / 10 * Math.exp(0.2 * normal())).toFixed(6),
        items_processed: items,
      },
    };
    if (!change(execution, (now - created) / hour, made.length)) continue;
    const time = (ms) => new Date(ms).toISOString();
    execution.created_at = time(created);
    execution.started_at = time(created + 2000);
    execution.completed_at = time(created + 2000 + execution.metrics.duration_ms);
    made.push(execution);
  }
  return made;
}

const content = { every: 1, cost: 0.05, duration: 20_000, failures: 0.01, retries: 0.04 };
const seo = { every: 2, cost: 0.012, duration: 6_000, failures: 0.01, retries: 0.04 };
const revenue = { every: 1, cost: 0.02, duration: 9_000, failures: 0.02, retries: 0.04 };

function write(name, input) {
  const { executions, ...rest } = input;
  const lines = executions.map((each) => JSON.stringify(each)).join(",\n");
  const url = new URL(`./${name}.json`, import.meta.url);
  writeFileSync(url, `${JSON.stringify({ now: new Date(now).toISOString(), ...rest }).slice(0, -1)},"executions":[\n${lines}\n]}\n`);
}

write("cost_spike", {
  hours: 24,
  daily_budget_usd: "2.00",
  executions: [
    ...history(1, "content_pipeline", content, (execution, ago, index) => {
      if ([184, 187, 189].includes(index)) execution.metrics.cost_usd = (9 * Number(execution.metrics.cost_usd)).toFixed(6);
      return true;
    }),
    ...history(2, "seo_monitor", seo),
  ],
});

write("outage_and_silence", {
  hours: 24,
  executions: [
    ...history(3, "revenue_optimizer", revenue, (execution, ago) => {
      if (ago > 3 && ago < 11) Object.assign(execution, { status: "dead", reason: "attempts_exhausted", retry_count: 3 });
      return true;
    }),
    ...history(4, "content_pipeline", content),
    ...history(5, "seo_monitor", { ...seo, every: 1 }, (execution, ago) => ago > 14),
  ],
});

write("slow_and_retried", {
  hours: 24,
  executions: history(6, "content_pipeline", { ...content, every: 0.5 }, (execution, ago) => {
    if (ago < 9) {
      execution.metrics.duration_ms = Math.round(2.5 * execution.metrics.duration_ms);
      if (execution.status === "completed" && execution.metrics.items_processed % 2 === 0) execution.retry_count = 2;
    }
    return true;
  }),
});
