//! Load, in a process of its own: wrk asks a server, pgbench asks PostgreSQL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::process::Command;

use crate::figures::Sample;
use crate::installation::digest;
use crate::process::Server;
use crate::token::well_formed;
use crate::verifiers::Verifier;

/// As many clients as wait for an answer at the same time.
pub(crate) const CONNECTIONS: u32 = 32;

/// As many connections as Keyward has to PostgreSQL unless told otherwise.
const DATABASE_CONNECTIONS: &str = "16";

/// The lookup as Keyward sends it (`persistence`, `sql/credentials.rs`).
const LOOKUP: &str = "SELECT api_keys.id, api_keys.created_at, api_keys.can_manage_keys, api_keys.revoked_at, \
     api_keys.end_came_at, memberships.id, memberships.ended_at, memberships.end_came_at, users.id, users.username, \
     organizations.id, organizations.slug, organizations.name \
     FROM api_keys INNER JOIN (memberships INNER JOIN users ON memberships.user_id = users.id \
     INNER JOIN organizations ON memberships.organization_id = organizations.id) \
     ON api_keys.consumer_id = memberships.id WHERE api_keys.digest = ";

/// Asks a server for this long; all answers are of the same status. A verifier asks about the tokens, and
/// does not send them as its own.
pub(crate) async fn wrk(
    server: &Server,
    path: &str,
    tokens: Option<&Path>,
    verifier: Option<&Verifier>,
    expects_error: bool,
    time: Duration,
) -> Sample {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/load.lua");
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
    .arg(script)
    .arg(format!("http://{}", server.address))
    .args(["--", path])
    .args(tokens)
    .args(verifier.map(|verifier| STANDARD.encode(format!("{}:{}", verifier.name, verifier.secret))));
    let cpu_before = server.cpu();
    let printed = output(wrk).await;
    let cpu = server.cpu() - cpu_before;
    let figures = printed.lines().find_map(|line| line.strip_prefix("figures: "));
    let figures: Vec<f64> = figures
        .unwrap_or_else(|| panic!("no figures: {printed}"))
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    let [requests, micros, p99, refused, failed] = figures[..] else {
        panic!("not the figures that load.lua prints: {printed}");
    };
    let expected = if expects_error { requests } else { 0.0 };
    assert!(
        requests > 0.0 && failed == 0.0 && refused == expected,
        "{printed}"
    );
    Sample {
        per_second: requests / micros * 1e6,
        cpu: Some(cpu.each(requests)),
        p99_millis: Some(p99 / 1e3),
    }
}

/// Asks PostgreSQL for this long for one key, prepared; what pgbench prepares for several is planned anew for
/// each.
pub(crate) async fn pgbench(database_url: &str, time: Duration) -> Sample {
    let script =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lookup-{}.sql", std::process::id()));
    std::fs::write(&script, format!("{LOOKUP}:digest;\n")).expect("a script");
    let mut pgbench = Command::new("pgbench");
    pgbench
        .args(["--no-vacuum", "--protocol", "prepared", "--jobs", "1"])
        .args(["--client", DATABASE_CONNECTIONS, "--time"])
        .arg(time.as_secs().to_string())
        .arg(format!("--define=digest=\\x{}", digest(&well_formed(1))))
        .arg("--file")
        .arg(&script)
        .arg(database_url);
    let printed = output(pgbench).await;
    let _ = std::fs::remove_file(&script);
    let tps = printed
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Sample {
        per_second: tps.unwrap_or_else(|| panic!("no figure: {printed}")),
        cpu: None,
        p99_millis: None,
    }
}

async fn output(mut command: Command) -> String {
    let output = command.kill_on_drop(true).output().await;
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}
