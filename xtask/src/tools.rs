//! The programs that the tasks need beside cargo: found, installed, or asked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{cargo, run};
use crate::debian;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// A program that a task needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    what: &'static str,
    /// Any of these on the PATH, or in one of `folders`.
    programs: &'static [&'static str],
    folders: &'static [&'static str],
    /// Arguments with which the program proves that it works; if there are none, it only has to exist.
    proof: &'static [&'static str],
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// Installed from these Debian packages.
    Debian(&'static [&'static str]),
    /// A crate that `cargo install` builds.
    Crate(&'static str),
}

/// A program of Debian's packages.
const fn debian(
    what: &'static str,
    programs: &'static [&'static str],
    packages: &'static [&'static str],
) -> Tool {
    Tool {
        what,
        programs,
        folders: &[],
        proof: &[],
        source: Source::Debian(packages),
    }
}

/// A program that cargo has as a subcommand.
const fn cargo_subcommand(what: &'static str, name: &'static [&'static str; 1]) -> Tool {
    Tool {
        what,
        programs: name,
        folders: &[],
        proof: &[],
        source: Source::Crate(name[0]),
    }
}

pub(crate) const POSTGRESQL: Tool = Tool {
    folders: &["/usr/lib/postgresql/*/bin"],
    ..debian(
        "PostgreSQL's server programs, for databases of the tests' own",
        &["initdb"],
        &["postgresql"],
    )
};

const CHROMIUM: Tool = debian(
    "Chromium, for the tests of the console",
    &["chromium", "chromium-browser", "google-chrome"],
    &["chromium"],
);

/// Chromium depends on no font. With Liberation's alone, Debian takes its typewriter font for every text,
/// which prints on more pages.
const FONTS: Tool = Tool {
    folders: &["/usr/share/fonts/truetype/dejavu"],
    ..debian(
        "DejaVu's fonts, in which Chromium shows and prints the console",
        &["DejaVuSans.ttf"],
        &["fonts-dejavu-core"],
    )
};

const CHROMEDRIVER: Tool = debian(
    "ChromeDriver, which steers Chromium",
    &["chromedriver"],
    &["chromium-driver"],
);

const NODE: Tool = debian(
    "Node.js, for the generated TypeScript client and the judges of the API's document",
    &["node"],
    &["nodejs"],
);

const NPM: Tool = debian(
    "npm, which installs what the tests run on Node.js below target/",
    &["npm"],
    &["npm"],
);

const CURL: Tool = debian(
    "curl, for the command line that the demonstration prints",
    &["curl"],
    &["curl"],
);

const PYTHON: Tool = Tool {
    proof: &["-c", "import ensurepip, venv"],
    ..debian(
        "Python with venv and pip, for the generated Python client and a judge of the API's document",
        &["python3"],
        &["python3", "python3-venv"],
    )
};

pub(crate) const NGINX: Tool = Tool {
    folders: &["/usr/sbin"],
    ..debian(
        "nginx, to compare with, and for the tests of clients and services behind it",
        &["nginx"],
        &["nginx-light"],
    )
};

const CADDY: Tool = debian(
    "Caddy, for the tests of services behind gateways",
    &["caddy"],
    &["caddy"],
);

const HAPROXY: Tool = Tool {
    folders: &["/usr/sbin"],
    ..debian(
        "HAProxy, for the tests of services behind gateways",
        &["haproxy"],
        &["haproxy"],
    )
};

const APACHE: Tool = Tool {
    folders: &["/usr/sbin"],
    ..debian(
        "Apache httpd, for the tests of services behind gateways",
        &["apache2"],
        &["apache2-bin"],
    )
};

const LUA_SOCKET: Tool = Tool {
    folders: &["/usr/share/lua/5.3"],
    ..debian(
        "LuaSocket, with which Apache httpd asks Keyward",
        &["socket.lua"],
        &["lua-socket"],
    )
};

const PROMTOOL: Tool = debian(
    "promtool, which checks metrics and alert rules",
    &["promtool"],
    &["prometheus"],
);

pub(crate) const PGBENCH: Tool = debian(
    "pgbench, which asks PostgreSQL what Keyward asks it",
    &["pgbench"],
    &["postgresql"],
);

pub(crate) const WRK: Tool = debian("wrk, which makes the load", &["wrk"], &["wrk"]);

pub(crate) const COMPOSE: Tool = debian(
    "docker-compose, which runs what compose.yaml says",
    &["docker-compose"],
    &["docker-compose"],
);

pub(crate) const NEXTEST: Tool = cargo_subcommand("cargo-nextest, which runs the tests", &["cargo-nextest"]);

const CARGO_DEB: Tool = cargo_subcommand("cargo-deb, which makes the Debian package", &["cargo-deb"]);

/// Without it, cargo-deb warns, and makes a package that does not name the libraries it depends on.
const DPKG_SHLIBDEPS: Tool = debian(
    "dpkg-shlibdeps, which finds the libraries that the Debian package depends on",
    &["dpkg-shlibdeps"],
    &["dpkg-dev"],
);

const CARGO_PGO: Tool = cargo_subcommand(
    "cargo-pgo, which builds with counters and with what they counted",
    &["cargo-pgo"],
);

const DENY: Tool = cargo_subcommand(
    "cargo-deny, which checks licences and sources of dependencies",
    &["cargo-deny"],
);

const IP: Tool = Tool {
    folders: &["/sbin", "/usr/sbin"],
    ..debian(
        "ip, for the tests in a network without IPv6",
        &["ip"],
        &["iproute2"],
    )
};

/// They run for seconds, so a full optimization would take longer than it saves.
const QUICK_TO_BUILD: &[&str] = &[
    "--config",
    "profile.release.opt-level=1",
    "--config",
    "profile.release.lto=false",
    "--config",
    "profile.release.codegen-units=16",
];

const FAKETIME: Tool = debian(
    "faketime, for servers whose clocks are wrong",
    &["faketime"],
    &["faketime"],
);

const PGBOUNCER: Tool = Tool {
    folders: &["/usr/sbin"],
    ..debian(
        "pgbouncer, for servers behind a pooler",
        &["pgbouncer"],
        &["pgbouncer"],
    )
};

/// For `cargo xtask faults`.
pub(crate) const FOR_FAULTS: &[Tool] = &[POSTGRESQL, FAKETIME, PGBOUNCER];

pub(crate) const FOR_TESTS: &[Tool] = &[
    POSTGRESQL,
    CHROMIUM,
    FONTS,
    CHROMEDRIVER,
    NODE,
    NPM,
    PYTHON,
    CURL,
    NGINX,
    CADDY,
    HAPROXY,
    APACHE,
    LUA_SOCKET,
    PROMTOOL,
    NEXTEST,
];

pub(crate) const FOR_PACKAGES: &[Tool] = &[CARGO_DEB, DPKG_SHLIBDEPS];

/// For the load by which a release is optimized.
pub(crate) const FOR_RELEASES: &[Tool] = &[CARGO_PGO, POSTGRESQL, PGBENCH, WRK];

/// For continuous integration, in addition to [`FOR_TESTS`].
pub(crate) const FOR_CI: &[Tool] = &[DENY, IP];

/// Installs missing tools that cargo can install, else fails with the commands to run.
///
/// Crates are installed for anyone, because that touches only the user's own folder.
pub(crate) fn ensure(workspace: &Workspace, tools: &[Tool]) -> Outcome {
    let missing: Vec<Tool> = tools
        .iter()
        .filter(|tool| tool.find().is_none())
        .copied()
        .collect();
    for tool in &missing {
        eprintln!("missing: {}", tool.what);
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|tool| tool.source.packages())
        .copied()
        .collect();
    if !packages.is_empty() {
        debian::install(&packages)?;
    }
    for tool in &missing {
        if let Source::Crate(name) = tool.source {
            eprintln!("building {name} from its source, for some minutes");
            run(cargo(workspace, &["install", "--locked", name]).args(QUICK_TO_BUILD))?;
        }
    }
    match missing.iter().find(|tool| tool.find().is_none()) {
        None => Ok(()),
        Some(tool) => Err(Failure::new(format!(
            "installed, but still not found on the PATH: {}",
            tool.what
        ))),
    }
}

impl Tool {
    fn find(&self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&path)
            .chain(self.folders.iter().flat_map(|pattern| matching(pattern)))
            .collect();
        self.find_in(&folders)
    }

    fn find_in(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let programs = self.programs.iter();
        programs
            .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
            .find(|path| path.is_file() && self.is_whole(path))
    }

    fn is_whole(&self, program: &Path) -> bool {
        let mut proof = Command::new(program);
        proof.args(self.proof).stdin(Stdio::null());
        proof.stdout(Stdio::null()).stderr(Stdio::null());
        self.proof.is_empty() || proof.status().is_ok_and(|status| status.success())
    }
}

impl Source {
    fn packages(&self) -> &[&'static str] {
        match self {
            Self::Debian(packages) => packages,
            Self::Crate(_) => &[],
        }
    }
}

/// The folders that match `parent/*/below`.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((parent, below)) = pattern.split_once("/*/") else {
        return vec![pattern.into()];
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join(below)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_tool_is_found_and_missing_tool_reported() {
        let nowhere = Tool {
            programs: &["no-such-program"],
            ..NEXTEST
        };
        let shell = Tool {
            programs: &["no-such-program", "sh"],
            ..NEXTEST
        };
        let folders = ["/nonexistent".into(), "/bin".into()];
        assert_eq!(nowhere.find_in(&folders), None);
        assert_eq!(shell.find_in(&folders), Some("/bin/sh".into()));
    }

    #[test]
    fn tool_failing_its_check_is_missing() {
        let shell = Tool {
            programs: &["sh"],
            proof: &["-c", "true"],
            ..NEXTEST
        };
        let broken = Tool {
            proof: &["-c", "false"],
            ..shell
        };
        let folders = ["/bin".into()];
        assert_eq!(shell.find_in(&folders), Some("/bin/sh".into()));
        assert_eq!(broken.find_in(&folders), None);
    }
}
