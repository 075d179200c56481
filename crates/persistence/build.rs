//! Notices migrations that are added, and joins those of PostgreSQL for tests, whose databases are copies of one
//! that these made.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const MIGRATIONS: &str = "migrations";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={MIGRATIONS}");
    let folders = fs::read_dir(Path::new(MIGRATIONS).join("postgres"))?;
    let folders: io::Result<Vec<PathBuf>> = folders.map(|folder| Ok(folder?.path())).collect();
    let mut folders = folders?;
    folders.sort();
    let texts: io::Result<String> = folders
        .iter()
        .map(|folder| fs::read_to_string(folder.join("up.sql")))
        .collect();
    let directory = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(directory.join("postgres.sql"), texts?)
}
