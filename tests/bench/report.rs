//! The figures as a table for people and as JSON.

use std::fmt;

use serde_json::{Value, json};

use crate::figures::Samples;
use crate::options::Options;
use crate::rows::{Pair, Single};
use crate::singles::shown;

/// Everything that was measured.
pub(crate) struct Report {
    machine: Value,
    pairs: Vec<String>,
    singles: Vec<String>,
    rows: Vec<Value>,
}

impl Report {
    pub(crate) fn begin(options: &Options) -> Self {
        let cpus = std::thread::available_parallelism().map_or(0, usize::from);
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        Self {
            machine: json!({
                "cpus": cpus,
                "memory": memory.map(str::trim),
                "keys": options.keys,
                "many_keys": options.many_keys,
                "events": options.events,
                "rounds": options.rounds,
                "seconds": options.time().as_secs(),
            }),
            pairs: Vec::new(),
            singles: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add_pair(&mut self, pair: &Pair, (what, against): &(Samples, Samples)) {
        let rate = ratio(what.per_second(), against.per_second());
        let cpu = ratio(what.cpu_micros(), against.cpu_micros());
        let goal = &pair.goal;
        let goals = [
            goal.least_rate
                .map(|least| (format!("rate ≥ {least}"), rate.map(|rate| rate >= least))),
            goal.most_cpu
                .map(|most| (format!("CPU ≤ {most} ×"), cpu.map(|cpu| cpu <= most))),
            goal.most_micros.map(|most| {
                let holds = what.cpu_micros().map(|micros| micros <= most);
                (format!("CPU ≤ {most} µs"), holds)
            }),
            goal.most_p99_more.map(|most| {
                let more = what.p99_millis().zip(against.p99_millis());
                let holds = more.map(|(what, against)| what - against <= most);
                (format!("p99 ≤ + {most} ms"), holds)
            }),
            goal.most_p99.map(|most| {
                let times = ratio(what.p99_millis(), against.p99_millis());
                (format!("p99 ≤ {most} ×"), times.map(|times| times <= most))
            }),
        ];
        let goals: Vec<_> = goals
            .into_iter()
            .flatten()
            .map(|(goal, holds)| format!("{goal}: {}", said(holds)))
            .collect();
        self.pairs.push(format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            pair.name,
            number(what.per_second(), 0),
            number(against.per_second(), 0),
            number(rate, 2),
            number(what.cpu_micros(), 1),
            number(against.cpu_micros(), 1),
            number(cpu, 2),
            number(what.user_micros(), 1),
            number(against.user_micros(), 1),
            number(what.p99_millis(), 2),
            number(against.p99_millis(), 2),
            goals.join("; "),
        ));
        self.rows.push(json!({
            "row": pair.name,
            "what": to_json(what),
            "against": to_json(against),
            "rate_ratio": rate,
            "cpu_ratio": cpu,
            "goals": { "least_rate": goal.least_rate, "most_cpu": goal.most_cpu, "most_micros": goal.most_micros,
                "most_p99_more": goal.most_p99_more, "most_p99": goal.most_p99 },
        }));
    }

    pub(crate) fn add_single(&mut self, single: &Single, values: &[f64]) {
        let value = shown(values);
        self.singles.push(format!(
            "| {} | {} {} | {} |",
            single.name,
            number(Some(value), 1),
            single.unit,
            single.most.map_or_else(
                || "–".to_owned(),
                |most| format!("≤ {most}: {}", said(Some(value <= most)))
            ),
        ));
        self.rows.push(json!({
            "row": single.name,
            "values": values,
            "median": value,
            "unit": single.unit,
            "goals": { "most": single.most },
        }));
    }

    pub(crate) fn to_json(&self) -> String {
        format!("{:#}\n", json!({ "machine": self.machine, "rows": self.rows }))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.machine)?;
        if !self.pairs.is_empty() {
            writeln!(
                out,
                "\n| what | requests/s | of the other | ratio | CPU µs | of the other | ratio \
                 | outside the kernel | of the other | p99 ms | of the other | goals |\n\
                 |---|---|---|---|---|---|---|---|---|---|---|---|"
            )?;
            for row in &self.pairs {
                writeln!(out, "{row}")?;
            }
        }
        if !self.singles.is_empty() {
            writeln!(out, "\n| what | | goal |\n|---|---|---|")?;
            for row in &self.singles {
                writeln!(out, "{row}")?;
            }
        }
        Ok(())
    }
}

fn ratio(what: Option<f64>, against: Option<f64>) -> Option<f64> {
    Some(what? / against?)
}

fn number(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.digits$}"))
}

const fn said(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "not measured",
    }
}

fn to_json(samples: &Samples) -> Value {
    let all = samples.0.iter().map(|sample| {
        json!({
            "per_second": sample.per_second,
            "cpu_micros": sample.cpu.map(|cpu| cpu.all),
            "user_micros": sample.cpu.map(|cpu| cpu.user),
            "p99_millis": sample.p99_millis,
        })
    });
    json!({
        "per_second": samples.per_second(),
        "cpu_micros": samples.cpu_micros(),
        "user_micros": samples.user_micros(),
        "p99_millis": samples.p99_millis(),
        "samples": all.collect::<Vec<_>>(),
    })
}
