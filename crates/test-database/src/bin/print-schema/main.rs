//! Prints diesel's `schema.rs` for the database that `keyward migrate` makes.
//!
//! Usage: `print-schema PROGRAM`, where PROGRAM is the built `keyward`. It is run as `PROGRAM migrate` on a fresh
//! database, whose catalogue is then read. (diesel_cli would need libpq and a long installation for the same.)

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command speaks on its standard streams"
)]

mod catalogue;
mod render;

use std::process::{Command, ExitCode};

use keyward_test_database::TestDatabase;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program] = arguments.as_slice() else {
        eprintln!("print-schema: name the built `keyward` and nothing else");
        return ExitCode::from(2);
    };
    match schema_after_migration_by(program).await {
        Ok(schema) => {
            print!("{schema}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("print-schema: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn schema_after_migration_by(program: &str) -> Result<String, String> {
    let database = TestDatabase::empty().await.map_err(|error| error.to_string())?;
    let status = Command::new(program)
        .arg("migrate")
        .env("KEYWARD_DATABASE_URL", database.url())
        // Whatever it prints is not part of the schema.
        .stdout(std::io::stderr())
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    if !status.success() {
        return Err(format!("`{program} migrate` failed: {status}"));
    }
    render::schema(&catalogue::read(database.url()).await?)
}
