//! Load, in a process of its own: wrk asks a server, pgbench asks PostgreSQL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use crate::figures::Sample;
use crate::process::Server;

/// The number of clients that wait for an answer at the same time.
pub(crate) const CONNECTIONS: u32 = 32;

/// Keyward's default number of connections to PostgreSQL.
const DATABASE_CONNECTIONS: &str = "16";

/// The request that is repeated. In the header and the body, `*` stands for each token in turn.
pub(crate) struct Sent<'a> {
    pub(crate) path: String,
    /// A token a line.
    pub(crate) tokens: Option<&'a Path>,
    /// The header that identifies the client.
    pub(crate) header: Option<(&'static str, String)>,
    /// Sent by POST, of this type.
    pub(crate) body: Option<(&'static str, &'static str)>,
}

/// Asks a server for this long; either all answers are errors, or none is.
pub(crate) async fn wrk(server: &Server, sent: &Sent<'_>, expects_error: bool, time: Duration) -> Sample {
    let cpu_before = server.cpu();
    let [requests, micros, p99, refused, failed] = figures(server, sent, time).await;
    let cpu = server.cpu() - cpu_before;
    let expected = if expects_error { requests } else { 0.0 };
    assert!(
        requests > 0.0 && failed == 0.0 && refused == expected,
        "{requests} requests, of which {refused} were refused and {failed} failed"
    );
    Sample {
        per_second: requests / micros * 1e6,
        cpu: Some(cpu.each(requests)),
        p99_millis: Some(p99 / 1e3),
    }
}

/// Sends requests that are refused for this long.
pub(crate) async fn guess(server: &Server, sent: &Sent<'_>, time: Duration) {
    let [requests, _, _, refused, failed] = figures(server, sent, time).await;
    assert!(
        requests > 0.0 && failed == 0.0 && refused == requests,
        "of {requests} guesses, {refused} were refused and {failed} failed"
    );
}

/// The figures that `load.lua` prints.
async fn figures(server: &Server, sent: &Sent<'_>, time: Duration) -> [f64; 5] {
    let mut wrk = Command::new("wrk");
    wrk.args([
        "--threads",
        "1",
        "--connections",
        &CONNECTIONS.to_string(),
        "--duration",
    ])
    .arg(format!("{}s", time.as_secs()))
    .arg("--script")
    .arg(here("load.lua"))
    .arg(format!("http://{}", server.address))
    .args(["--", &sent.path])
    .arg(sent.tokens.unwrap_or(Path::new("")))
    .arg(sent.body.map_or("GET", |_| "POST"));
    let (header, value) = sent.header.clone().unwrap_or_default();
    wrk.args([header, &value]);
    let (content_type, body) = sent.body.unwrap_or_default();
    wrk.args([content_type, body]);
    let printed = output(wrk).await;
    let figures = printed.lines().find_map(|line| line.strip_prefix("figures: "));
    let figures: Vec<f64> = figures
        .unwrap_or_else(|| panic!("no figures: {printed}"))
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    figures
        .try_into()
        .unwrap_or_else(|_| panic!("not the figures that load.lua prints: {printed}"))
}

/// Runs a script of `pgbench/` for this long, prepared. PostgreSQL plans its prepared statements anew for
/// each value of a variable.
pub(crate) async fn pgbench(
    database_url: &str,
    script: &str,
    variables: &[(&str, String)],
    time: Duration,
) -> Sample {
    let mut pgbench = Command::new("pgbench");
    pgbench
        .args(["--no-vacuum", "--protocol", "prepared", "--jobs", "1"])
        .args(["--client", DATABASE_CONNECTIONS, "--time"])
        .arg(time.as_secs().to_string())
        .args(
            variables
                .iter()
                .map(|(name, value)| format!("--define={name}={value}")),
        )
        .arg("--file")
        .arg(here("pgbench").join(script))
        .arg(database_url);
    let printed = output(pgbench).await;
    let tps = printed
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Sample {
        per_second: tps.unwrap_or_else(|| panic!("no figure: {printed}")),
        cpu: None,
        p99_millis: None,
    }
}

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bench").join(file)
}

async fn output(mut command: Command) -> String {
    let output = command.kill_on_drop(true).output().await;
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}
